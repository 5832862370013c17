// Parts of pages that show what goes on. Text of others is shown as text.
const by = id => document.getElementById(id);
function made(kind, text, name) {
  const element = document.createElement(kind);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
}
function row(cells) {
  const tr = made("tr");
  for (const [text, name, dot] of cells) {
    const td = made("td", dot ? "" : text, name);
    if (dot) td.append(made("span", "", "dot " + dot), text);
    tr.append(td);
  }
  return tr;
}
