import Anthropic from '@anthropic-ai/sdk';
import { question, run, schema } from './scenarios.mjs';

const client = new Anthropic({ apiKey: 'sk-test', baseURL: process.argv[2], maxRetries: 0 });
const user = { role: 'user', content: question };
const tools = [{ name: 'glob', description: 'Find', input_schema: schema, strict: true }];
const base = {
    model: 'claude-opus-5-5', max_tokens: 4000,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    thinking: { type: 'adaptive', display: 'summarized' },
};

function understood(message) {
    const of = (type) => message.content.filter((block) => block.type === type);
    return {
        text: of('text').map((block) => block.text).join(''),
        thinking: of('thinking').map((block) => block.thinking).join(''),
        refusal: message.stop_details?.explanation ?? null,
        calls: of('tool_use').map(({ id, name, input }) => ({ id, name, args: input })),
        stop: message.stop_reason,
        usage: [message.usage.input_tokens + message.usage.cache_read_input_tokens
            + message.usage.cache_creation_input_tokens, message.usage.output_tokens],
    };
}

async function stream(messages, more = {}) {
    return await client.messages.stream({ ...base, messages, ...more }).finalMessage();
}

await run({
    text: async () => understood(await stream([user])),
    whole: async () => understood(await client.messages.create({ ...base, messages: [user] })),
    tools: async () => {
        const first = await stream([user], { tools });
        const results = first.content.filter((block) => block.type === 'tool_use').map((block) => (
            { type: 'tool_result', tool_use_id: block.id, content: 'a.c' }));
        results[results.length - 1].cache_control = { type: 'ephemeral' };
        const messages = [user, { role: 'assistant', content: first.content },
            { role: 'user', content: results }];
        return [understood(first), understood(await stream(messages, { tools }))];
    },
    models: async () => (await client.models.list()).data.map((model) => model.id),
});
