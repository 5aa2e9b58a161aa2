import { GoogleGenAI } from '@google/genai';
import { question, run, schema } from './scenarios.mjs';

const client = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: process.argv[2] } });
const model = 'gemini-4-argon';
const base = {
    systemInstruction: 'Be brief.',
    thinkingConfig: { includeThoughts: true, thinkingLevel: 'MEDIUM' },
};
// The type is no list here: Gemini has nullable or leaves the property out of required.
const parameters = {
    ...schema, required: ['pattern'],
    properties: { pattern: { type: 'string' }, limit: { type: 'integer' } },
};
const tools = [{ functionDeclarations: [
    { name: 'glob', description: 'Find', parametersJsonSchema: parameters }] }];

function understood(chunks) {
    const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
    const last = chunks[chunks.length - 1];
    return {
        text: parts.filter((part) => part.text && !part.thought).map((part) => part.text).join(''),
        thinking: parts.filter((part) => part.thought).map((part) => part.text).join(''),
        refusal: null,
        calls: chunks.flatMap((chunk) => chunk.functionCalls ?? []),
        stop: last.candidates?.[0]?.finishReason ?? last.promptFeedback?.blockReason,
        usage: [last.usageMetadata.promptTokenCount,
            last.usageMetadata.candidatesTokenCount + last.usageMetadata.thoughtsTokenCount],
    };
}

async function send(chat, message) {
    const chunks = [];
    for await (const chunk of await chat.sendMessageStream({ message })) {
        chunks.push(chunk);
    }
    return chunks;
}

await run({
    text: async () => {
        const chat = client.chats.create({ model, config: base });
        return understood(await send(chat, question));
    },
    whole: async () => understood([
        await client.models.generateContent({ model, contents: question, config: base })]),
    tools: async () => {
        const chat = client.chats.create({ model, config: { ...base, tools } });
        const first = await send(chat, question);
        const results = understood(first).calls.map(({ id, name }) => (
            { functionResponse: { id, name, response: { output: 'a.c' } } }));
        return [understood(first), understood(await send(chat, results))];
    },
    models: async () => {
        const names = [];
        for await (const each of await client.models.list()) {
            names.push(each.name);
        }
        return names;
    },
});
