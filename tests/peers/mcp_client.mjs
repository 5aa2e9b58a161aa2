// The official client against `ikigai mcp serve`. Arguments: ikigai and the mode of version
// negotiation. Prints one JSON line per step.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [ikigai, era] = process.argv.slice(2);
const mode = /^\d/.test(era) ? { pin: era } : era;
const say = (step, value) => console.log(JSON.stringify([step, value]));
const network = { command: 'echo net', permissions: 'network', reason: 'to try it' };

async function connect(capabilities, answer) {
    const client = new Client({ name: 'peer', version: '1' },
        { capabilities, versionNegotiation: { mode } });
    if (answer !== undefined) {
        client.setRequestHandler('elicitation/create', async request => {
            say('asked', request.params.message);
            const fields = request.params.requestedSchema.properties;
            return { action: answer, content: 'answer' in fields ? { answer: 'blue' } : {} };
        });
    }
    await client.connect(new StdioClientTransport({
        command: ikigai, args: ['mcp', 'serve'], cwd: process.cwd(), env: process.env,
        stderr: 'inherit' }));
    return client;
}

const client = await connect({ elicitation: { form: {} } }, 'accept');
say('server', client.getServerVersion());
say('version', client.getNegotiatedProtocolVersion());
say('tools', (await client.listTools()).tools.map(tool => tool.name));
say('call', await client.callTool({ name: 'bash', arguments: { command: 'echo hi' } }));
say('image', await client.callTool({ name: 'file_read', arguments: { file_path: 'shot.png' } }));
say('granted', await client.callTool({ name: 'bash', arguments: network }));
say('answered', await client.callTool({ name: 'ask_user',
    arguments: { question: 'Which one?', choices: ['red', 'blue'] } }));
await client.callTool({ name: 'nope', arguments: {} }).catch(error => say('unknown', error.code));
const steps = [];
await client.callTool({ name: 'bash', arguments: { command: 'echo a; sleep 0.3; echo b' } },
    { onprogress: step => steps.push(step.progress) });
say('progress', steps);
const abort = new AbortController();
const long = client.callTool({ name: 'bash', arguments: { command: 'touch begun; sleep 600' } },
    { signal: abort.signal });
const { existsSync } = await import('node:fs');
while (!existsSync('begun')) {
    await new Promise(resolve => setTimeout(resolve, 20));
}
abort.abort();
await long.catch(() => say('aborted', true));
say('together', (await Promise.all([1, 2, 3, 4].map(n => client.callTool(
    { name: 'bash', arguments: { command: `echo ${n}` } })))).map(r => r.structuredContent.output));
await client.close();

const declines = await connect({ elicitation: {} }, 'decline');
say('declined', await declines.callTool({ name: 'bash', arguments: network }));
await declines.close();
const silent = await connect({});
say('cannot ask', await silent.callTool({ name: 'bash', arguments: network }));
await silent.close();
