// Runs one scenario of a client against the server at BASE_URL and prints what the client
// understood as one line of JSON:  node CLIENT.mjs BASE_URL SCENARIO

export const question = 'which files are here';

export const schema = {
    type: 'object',
    properties: { pattern: { type: 'string' }, limit: { type: ['integer', 'null'] } },
    required: ['pattern', 'limit'],
    additionalProperties: false,
};

export async function run(scenarios) {
    const scenario = scenarios[process.argv[3]];
    let result;
    try {
        result = await scenario();
    } catch (error) {
        result = { error: { status: error.status ?? null, message: error.message } };
    }
    console.log(JSON.stringify(result));
}
