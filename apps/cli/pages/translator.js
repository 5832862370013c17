// Words of another language. A catalogue has templates and their translations, which have the fields as {0}, {1}, ...
// A template's fields: {n} a number or several, {q} a number with its unit, {w} a name, {h} names, {t} any text that
// stays as it is, {} a text that is translated too; a template with {f} is only filled, no text is matched with it.
// `names` are of hosts and switches: no words, whatever they are.
const translator = (catalogue, names) => {
  const number = "[-+]?[\\d.,]+(?:e[-+]?\\d+)?", unit = "[kKMGTP]?i?(?:bit/s|b/s|B/s|B|b)|[nuµm]?s|min|%";
  const name = "[^\\s,;]+";
  const kinds = { "": "(.+?)", t: "(.+?)", n: `(${number}(?:, ${number})*)`, q: `(${number}(?: ?(?:${unit}))?)`,
    w: `(${name})`, h: `(${name}(?:, ${name})*)` };
  const field = /\{([nqwhtf]?)\}/;
  const words = catalogue?.words ?? [], exact = new Map(words), untranslated = new Set();
  const rank = (from) => [from.split(field).filter((part, i) => i % 2 === 0).join("").length,
    from.split(field).filter((part, i) => i % 2 === 1 && part !== "" && part !== "t").length];
  // The template with the most literal text first, of those alike the one with the most fields of a kind.
  const templates = words.filter(([from]) => field.test(from) && !from.includes("{f}")).map(([from, to]) => {
    const parts = from.split(field);
    const whole = parts.map((part, i) => i % 2 === 1 ? kinds[part] : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return { from, to, rank: rank(from), is_text: parts.filter((part, i) => i % 2 === 1).map((kind) => kind === ""),
      pattern: new RegExp("^" + whole.join("") + "$") };
  }).sort((a, b) => b.rank[0] - a.rank[0] || b.rank[1] - a.rank[1]);
  const match = (text) => {
    for (const template of templates) {
      const found = template.pattern.exec(text);
      if (found) return { ...template, fields: found.slice(1) };
    }
    return null;
  };
  const fill = (to, fields) => to.replace(/\{(\d+)\}/g, (whole, at) => fields[Number(at)]);
  // null: there are no words for it.
  const said = (text) => {
    if (exact.has(text)) return exact.get(text);
    const found = match(text);
    const of_field = (each, i) => found.is_text[i] && !names.has(each) ? line(each) : each;
    return found && fill(found.to, found.fields.map(of_field));
  };
  // Sentences without a translation stay as they are and are noted, for tests.
  const line = (text) => {
    if (!/[A-Za-z]/.test(text)) return text;
    const made = said(text);
    if (made === null && /[a-z]{2,} [a-z]{2,}/.test(text)) untranslated.add(text);
    return made ?? text;
  };
  return {
    untranslated, match,
    say: (text) => catalogue ? text.split("\n").map(line).join("\n") : text,
    // A heading that may be of heddle's words or somebody's name: one word is a name.
    heading: (text) => catalogue && text.includes(" ") ? said(text) ?? text : text,
    // Of a template by its text, with fields as they are.
    filled: (from, ...fields) => fill(catalogue ? exact.get(from) : from.split(field).filter((part, i) => i % 2 === 0)
      .map((part, i) => i === 0 ? part : `{${i - 1}}` + part).join(""), fields),
  };
};
