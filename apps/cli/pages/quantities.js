"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const digits = (value) => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
const si = (value, unit) => {
  const steps = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  while (value >= 999.5 && i + 1 < steps.length) { value /= 1000; i++; }
  return (i === 0 ? String(Math.round(value)) : digits(value)) + " " + steps[i] + unit;
};
const span = (ns) => ns < 1e3 ? Math.round(ns) + " ns" : ns < 1e6 ? digits(ns / 1e3) + " µs"
  : ns < 1e9 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
