import OpenAI from 'openai';
import { question, run, schema } from './scenarios.mjs';

const client = new OpenAI({ apiKey: 'sk-test', baseURL: process.argv[2], maxRetries: 0 });
const tools = [
    { type: 'function', name: 'glob', description: 'Find', parameters: schema, strict: true },
];
const user = { role: 'user', content: [{ type: 'input_text', text: question }] };
const base = {
    model: 'gpt-6.1-sol', store: false, instructions: 'Be brief.',
    reasoning: { effort: 'medium', summary: 'auto' }, include: ['reasoning.encrypted_content'],
};

function understood(response) {
    const of = (type) => response.output.filter((item) => item.type === type);
    return {
        text: response.output_text,
        thinking: of('reasoning').flatMap((item) => item.summary)
            .map((part) => part.text).join('\n\n'),
        refusal: of('message').flatMap((item) => item.content)
            .filter((part) => part.type === 'refusal').map((part) => part.refusal)[0] ?? null,
        calls: of('function_call').map((item) => ({
            id: item.call_id, name: item.name, args: JSON.parse(item.arguments),
        })),
        stop: response.incomplete_details?.reason ?? response.status,
        usage: [response.usage.input_tokens, response.usage.output_tokens],
    };
}

async function stream(input, more = {}) {
    const stream = client.responses.stream({ ...base, input, ...more });
    return await stream.finalResponse();
}

await run({
    text: async () => understood(await stream([user])),
    whole: async () => understood(await client.responses.create({ ...base, input: question })),
    tools: async () => {
        const input = [user];
        const first = await stream(input, { tools });
        for (const item of first.output) {
            const { parsed_arguments: _, ...plain } = item;
            if (plain.content) {
                plain.content = plain.content.map(({ parsed, ...part }) => part);
            }
            input.push(plain);
        }
        for (const item of first.output.filter((item) => item.type === 'function_call')) {
            input.push({ type: 'function_call_output', call_id: item.call_id, output: 'a.c' });
        }
        return [understood(first), understood(await stream(input, { tools }))];
    },
    models: async () => (await client.models.list()).data.map((model) => model.id),
});
