// An HTTP client in Node: client.mjs URL
//
// The answer's status line and fields go to standard error, its body to standard
// output piece by piece as it arrives. fetch takes the proxy and the trust from
// the environment alone.

const answer = await fetch(process.argv[2]);
console.error(`HTTP/1.1 ${answer.status}`);
answer.headers.forEach((value, name) => console.error(`${name}: ${value}`));
for await (const piece of answer.body) {
  await new Promise((written) => process.stdout.write(piece, written));
}
