// A server of the SDK for tests: both eras, or with the argument "reject" the modern one alone.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'peer', version: '1' });
  server.registerTool('greet', { description: 'Greets.', inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => ({ content: [{ type: 'text', text: `Hello ${name}` }] }));
  return server;
}, process.argv[2] === 'reject' ? { legacy: 'reject' } : {});
