/* Ties the charts, the list of worst moments and the player together. */

function showWorst(player, take) {
  const list = document.getElementById("worst");
  const buttons = take.worst.map((moment) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const about = document.createElement("small");
    button.type = "button";
    about.textContent = moment.about;
    button.append(moment.text, about);
    button.addEventListener("click", () => {
      player.play(false);
      player.seek(moment.at);
    });
    item.append(button);
    list.append(item);
    return button;
  });
  if (!buttons.length) {
    const item = document.createElement("li");
    item.textContent = "no frame has an observation to compare with";
    list.append(item);
  }
  return buttons;
}

async function startPage() {
  const plots = [...document.querySelectorAll(".over-time")];
  const heads = plots.map((plot) => plot.querySelector(".playhead"));
  const take = await unpackTake(document.getElementById("player-data").textContent);
  let buttons = [];
  const player = new Player(take, (number) => {
    for (const head of heads) {
      head.hidden = false;
      head.style.left = `${(100 * (number + 0.5)) / take.n_frames}%`;
    }
    take.worst.forEach((moment, k) => {
      if (buttons[k]) buttons[k].setAttribute("aria-current", String(moment.at * take.stride === number));
    });
  });
  buttons = showWorst(player, take);
  player.connect();
  for (const plot of plots) {
    plot.addEventListener("click", (event) => {
      const box = plot.getBoundingClientRect();
      const number = Math.floor(((event.clientX - box.left) / box.width) * take.n_frames);
      player.play(false);
      player.seek(Math.floor(number / take.stride));
    });
  }
  if (take.stride > 1) {
    document.getElementById("stride-note").textContent =
      ` The player holds every ${take.stride}th frame of this long take; the charts know all.`;
  }
  document.documentElement.dataset.ready = "true";
}

window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

startPage().catch((error) => {
  const fault = document.getElementById("stage-fault");
  fault.textContent = `The player cannot start: ${error.message}.`;
  fault.hidden = false;
});
