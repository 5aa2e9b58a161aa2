// The client of the ACP SDK against `ikigai acp`. It validates every message with the schemas of the
// SDK, and reports what is wrong on standard error. Arguments: ikigai, the folder of a session, and
// a folder for another one. Prints one JSON line per step.
import * as acp from '@agentclientprotocol/sdk';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';

const [ikigai, folder, other] = process.argv.slice(2);
const say = (step, value) => console.log(JSON.stringify([step, value]));
const agent = acp.methods.agent;
const client = acp.methods.client;
const kinds = new Set();
const child = spawn(ikigai, ['acp', '--mode', 'ask'], { stdio: ['pipe', 'pipe', 'inherit'] });
let option = 'allow_once';
let asked = 0;

const params = context => context.params ?? context;
const editor = acp.client({ name: 'peer' })
    .onNotification(client.session.update, context => {
        kinds.add(params(context).update.sessionUpdate);
    })
    .onRequest(client.session.requestPermission, () => {
        asked++;
        return { outcome: { outcome: 'selected', optionId: option } };
    })
    .onRequest(client.fs.readTextFile, context => {
        try {
            return { content: readFileSync(params(context).path, 'utf8') };
        } catch {
            throw acp.RequestError.resourceNotFound(params(context).path);
        }
    })
    .onRequest(client.fs.writeTextFile, context => {
        writeFileSync(params(context).path, params(context).content);
        return {};
    });

await editor.connectWith(
    acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async context => {
        const ask = (method, value) => context.request(method, value);
        say('initialize', await ask(agent.initialize, {
            protocolVersion: acp.PROTOCOL_VERSION ?? 1,
            clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
        }));
        const { sessionId, configOptions } = await ask(agent.session.new,
            { cwd: folder, mcpServers: [] });
        say('options', configOptions.map(each => each.id));
        const prompt = text => ask(agent.session.prompt,
            { sessionId, prompt: [{ type: 'text', text }] });
        say('hello', await prompt('hi'));
        say('read', await prompt('read a'));
        say('run', await prompt('run echo x > made'));
        option = 'reject_once';
        say('rejected', await prompt('run echo x > refused'));
        say('write', await prompt('/usage'));
        const slow = prompt('run sleep 600');
        option = 'allow_once';
        await new Promise(done => setTimeout(done, 300));
        await context.notify(agent.session.cancel, { sessionId });
        say('cancelled', await slow);
        const second = await ask(agent.session.new, { cwd: other, mcpServers: [] });
        say('mode', await ask(agent.session.setMode, { sessionId: second.sessionId,
            modeId: 'plan' }));
        say('set', (await ask(agent.session.setConfigOption, { sessionId: second.sessionId,
            configId: 'mode', value: 'auto' })).configOptions.length);
        say('list', (await ask(agent.session.list, {})).sessions.length);
        say('close', await ask(agent.session.close, { sessionId }));
        await ask(agent.session.load, { sessionId, cwd: folder, mcpServers: [] });
        say('again', await prompt('hi'));
        await ask(agent.session.close, { sessionId });
        await ask(agent.session.resume, { sessionId, cwd: folder, mcpServers: [] });
        say('delete', await ask(agent.session.delete, { sessionId }));
        say('asked', asked);
        say('kinds', [...kinds].sort());
    });
child.stdin.end();
say('status', await new Promise(done => child.on('exit', done)));
