
"use strict";
// Before anything is drawn: of a list in portions only what is called "on" is shown, so the rest costs nothing.
document.documentElement.classList.add("scripted");
document.addEventListener("DOMContentLoaded", () => {
  // What is there is never changed but in its order and in what is shown.
  const lists = [];
  const search = document.getElementById("search");
  const found = document.getElementById("found");

  const words = () => search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const textOf = (item) => (item.text ??= item.node.textContent.toLowerCase());

  const button = (label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", act);
    return made;
  };

  class Paged {
    constructor(node) {
      this.node = node;
      this.size = Number(node.dataset.paged);
      this.noun = node.dataset.noun;
      this.items = [...node.children].map((child, order) => ({
        node: child, order, gains: Number(child.dataset.gains ?? 0), losses: Number(child.dataset.losses ?? 0),
      }));
      this.ordered = this.items;
      this.shown = [];
      this.page = 0;
      this.keep = this.sort = "";
      this.first = node.tagName === "OL" ? node.start : null;
      this.pager = document.createElement("nav");
      this.pager.className = "pager";
      this.pager.setAttribute("aria-label", `Pages of ${this.noun}`);
      this.back = button("Back", () => this.turn(-1));
      this.on = button("Next", () => this.turn(1));
      this.words = document.createElement("span");
      this.words.setAttribute("role", "status");
      this.pager.append(this.back, this.on, this.words);
      node.after(this.pager);
    }

    turn(step) {
      this.page += step;
      this.show();
      this.node.scrollIntoView({ block: "start" });
    }

    select() {
      const asked = words();
      this.kept = this.ordered.filter(
        (item) => (!this.keep || item[this.keep] > 0) && asked.every((word) => textOf(item).includes(word)),
      );
      this.page = 0;
      this.show();
      return this.kept.length;
    }

    arrange() {
      const by = this.sort;
      this.ordered = by ? [...this.items].sort((a, b) => b[by] - a[by] || a.order - b.order) : this.items;
      this.node.append(...this.ordered.map((item) => item.node));
      this.select();
    }

    show() {
      const from = this.page * this.size;
      for (const item of this.shown) item.node.classList.remove("on");
      this.shown = this.kept.slice(from, from + this.size);
      for (const item of this.shown) {
        item.node.classList.add("on");
        if (this.first !== null) item.node.value = this.first + item.order;
      }
      const last = Math.ceil(this.kept.length / this.size) - 1;
      const to = Math.min(from + this.size, this.kept.length);
      const number = (value) => value.toLocaleString("en");
      this.back.disabled = this.page === 0;
      this.on.disabled = this.page >= last;
      this.back.hidden = this.on.hidden = last < 1;
      this.pager.hidden = last < 1 && this.kept.length === this.items.length;
      this.words.textContent = this.kept.length
        ? `${number(from + 1)} to ${number(to)} of ${number(this.kept.length)} ${this.noun}`
        : `no ${this.noun} that match`;
    }
  }

  const filter = () => {
    const total = lists.reduce((sum, list) => sum + list.select(), 0);
    found.textContent = search.value.trim() ? `${total.toLocaleString("en")} found` : "";
  };

  for (const node of document.querySelectorAll("[data-paged]")) lists.push(new Paged(node));
  for (const list of lists) list.select();
  for (const node of document.querySelectorAll(".needs-script")) node.hidden = false;
  const listOf = (id) => lists.find((list) => list.node.id === id);
  for (const choice of document.querySelectorAll("[data-keep]")) {
    choice.addEventListener("change", () => {
      listOf(choice.dataset.keep).keep = choice.value;
      filter();
    });
  }
  for (const choice of document.querySelectorAll("[data-sort]")) {
    choice.addEventListener("change", () => {
      const list = listOf(choice.dataset.sort);
      list.sort = choice.value;
      list.arrange();
    });
  }
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  search.form.addEventListener("submit", (event) => {
    event.preventDefault();
    filter();
  });
  // Paper has no pages to turn: everything is printed, as without scripts, unless something was asked for.
  window.addEventListener("beforeprint", () => {
    if (!search.value.trim()) document.documentElement.classList.remove("scripted");
  });
  window.addEventListener("afterprint", () => document.documentElement.classList.add("scripted"));
});
