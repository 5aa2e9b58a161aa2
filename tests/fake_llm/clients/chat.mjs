import OpenAI from 'openai';
import { question, run, schema } from './scenarios.mjs';

const client = new OpenAI({ apiKey: 'sk-test', baseURL: process.argv[2], maxRetries: 0 });
const user = { role: 'user', content: question };
const tools = [{
    type: 'function',
    function: { name: 'glob', description: 'Find', parameters: schema, strict: true },
}];

function understood(completion) {
    const choice = completion.choices[0];
    return {
        text: choice.message.content ?? '',
        refusal: choice.message.refusal ?? null,
        calls: (choice.message.tool_calls ?? []).map((call) => ({
            id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments),
        })),
        stop: choice.finish_reason,
        usage: [completion.usage?.prompt_tokens, completion.usage?.completion_tokens],
    };
}

async function stream(messages, more = {}) {
    const stream = client.chat.completions.stream({
        model: 'gpt-4.1', messages, stream_options: { include_usage: true }, ...more,
    });
    return await stream.finalChatCompletion();
}

await run({
    text: async () => understood(await stream([user])),
    whole: async () =>
        understood(await client.chat.completions.create({ model: 'gpt-4.1', messages: [user] })),
    tools: async () => {
        const messages = [{ role: 'system', content: 'Be brief.' }, user];
        const first = await stream(messages, { tools });
        const { role, content, tool_calls: calls } = first.choices[0].message;
        const plain = calls.map(({ id, type, function: f }) => (
            { id, type, function: { name: f.name, arguments: f.arguments } }));
        messages.push({ role, content, tool_calls: plain });
        for (const call of calls) {
            messages.push({ role: 'tool', tool_call_id: call.id, content: 'a.c' });
        }
        return [understood(first), understood(await stream(messages, { tools }))];
    },
    models: async () => (await client.models.list()).data.map((model) => model.id),
});
