// An HTTP/2 server with TLS in front of the fake, which speaks HTTP/1.1 only.
//   http2_front.mjs URL KEY CERTIFICATE
// Prints its port, then one line of JSON per request: its HTTP version and its connection.
import http from "node:http";
import http2 from "node:http2";
import { readFileSync } from "node:fs";

const [target, key, cert] = process.argv.slice(2);
const sessions = new Map();

function numberOf(session) {
    if (!sessions.has(session)) sessions.set(session, sessions.size + 1);
    return sessions.get(session);
}

const server = http2.createSecureServer({ key: readFileSync(key), cert: readFileSync(cert),
                                          allowHTTP1: true });
server.on("request", (request, response) => {
    const session = request.stream ? request.stream.session : request.socket;
    console.log(JSON.stringify({ version: request.httpVersion, connection: numberOf(session) }));
    const headers = Object.fromEntries(Object.entries(request.headers)
        .filter(([name]) => !name.startsWith(":") && name !== "host"));
    const onward = http.request(new URL(request.url, target), { method: request.method, headers },
        (answer) => {
            response.writeHead(answer.statusCode, { "content-type": answer.headers["content-type"] });
            answer.pipe(response);
        });
    request.pipe(onward);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
