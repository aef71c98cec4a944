// The steps that both generations of the TypeScript SDK run.

const KNOWN = ["echo", "hold", "inquire", "report"];
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function everything({ client, asked, watch, call }) {
  const text = async (name, args = {}) => (await call({ name, arguments: args })).content[0].text;

  const tools = async () => {
    const { tools } = await client.listTools();
    const result = await call({ name: "echo", arguments: { text: "hi" } });
    const refused = await call({ name: "refuse", arguments: {} });
    return {
      names: tools.map((tool) => tool.name).filter((name) => KNOWN.includes(name)).sort(),
      echo: result.content[0].text,
      structured: result.structuredContent,
      refused: refused.isError,
    };
  };

  const progress = async () => {
    const seen = [];
    const onprogress = ({ progress, total, message }) => seen.push([progress, total, message]);
    const result = await call({ name: "report", arguments: { count: 3 } }, { onprogress });
    const grows = seen.every(([value], at) => at === 0 || value > seen[at - 1][0]);
    return { last: seen.at(-1) ?? null, grows, text: result.content[0].text };
  };

  const cancel = async () => {
    const before = Number(await text("held"));
    const abort = new AbortController();
    const held = call({ name: "hold", arguments: {} }, { signal: abort.signal }).catch(() => "given up");
    while (await text("holding") === "0") await pause(10);
    abort.abort();
    await held;
    let letGo = 0;
    for (let tries = 0; letGo === 0 && tries < 500; tries += 1) {
      letGo = Number(await text("held")) - before;
      if (letGo === 0) await pause(10);
    }
    return { let_go: letGo };
  };

  const ask = async () => ({ text: await text("inquire", { about: "form" }), asked });

  const resources = async () => {
    const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
    const seen = { hello: await read("note://hello"), template: await read("planet://Mars/mass?unit=kg") };
    seen.missing = await read("note://nowhere").catch((error) => error.code);
    seen.updated = await watch("note://hello", () => text("touch", { uri: "note://hello" }));
    return seen;
  };

  const prompts = async () => {
    const { messages } = await client.getPrompt({ name: "greet", arguments: { name: "Ada", times: "2" } });
    const ref = { type: "ref/prompt", name: "greet" };
    const { completion } = await client.complete({ ref, argument: { name: "name", value: "a" } });
    return { greet: messages[0].content.text, completed: completion.values };
  };

  return {
    tools: await tools(),
    progress: await progress(),
    cancel: await cancel(),
    ask: await ask(),
    resources: await resources(),
    prompts: await prompts(),
  };
}

// Makes a thousand calls, ten at a time, each of which reports progress once and ends immediately. Each report must arrive
// before its answer, and none may be lost or raise an error in the client.
export async function race({ client, call }) {
  const CALLS = 1000;
  const surprises = [];
  client.onerror = (error) => surprises.push(String(error));
  let [reported, answered, begun] = [0, 0, 0];
  const one = async () => {
    while (begun < CALLS) {
      begun += 1;
      let seen = 0;
      const onprogress = () => { seen += 1; };
      const result = await call({ name: "report", arguments: { count: 1 } }, { onprogress });
      if (result.content[0].text === "reported") answered += 1;
      if (seen === 1) reported += 1;
    }
  };
  await Promise.all(Array.from({ length: 10 }, one));
  return { race: { answered, reported, surprises: [...new Set(surprises)] } };
}
