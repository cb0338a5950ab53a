// Renders cases with handlebars.js: standard input {"values", "partials", "cases": [{"template", "strict"}]}; standard output
// a list of ["ok", text] and ["error", message]. Its first argument is the directory that has it in node_modules.
const { createRequire } = require("node:module");
const Handlebars = createRequire(process.argv[2] + "/")("handlebars");

let text = "";
process.stdin.on("data", (piece) => (text += piece));
process.stdin.on("end", () => {
  const { values, partials, cases } = JSON.parse(text);
  const answers = cases.map(({ template, strict }) => {
    const environment = Handlebars.create();
    // The engine's: what stands in it comes as it is.
    environment.registerHelper("raw", (options) => options.fn());
    const options = { noEscape: true, strict };
    for (const [name, partial] of Object.entries(partials)) environment.registerPartial(name, environment.compile(partial, options));
    try {
      return ["ok", environment.compile(template, options)(structuredClone(values))];
    } catch (error) {
      return ["error", String(error.message)];
    }
  });
  process.stdout.write(JSON.stringify(answers));
});
