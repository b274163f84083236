// An answer while it is written, in a browser or in Node.js: fetch and a reader, since an EventSource can't POST.
//   for await (const { event, data } of streamed(`${api}/chat`, { question: "Hi" })) if (event === "text") show(data.text);
export async function* streamed(url, body, headers = {}) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error((await response.json()).error.message);
  if (!response.headers.get("content-type").startsWith("text/event-stream")) {
    yield { event: "answer", data: await response.json() }; // an API that doesn't stream
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [name, data] = block.split("\n");
      // what begins with a colon only keeps the connection
      if (data) yield { event: name.slice("event: ".length), data: JSON.parse(data.slice("data: ".length)) };
    }
  }
}
