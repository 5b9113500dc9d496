"""An environment of your own: plain functions, judged by rules. Run it: the expert plays."""

from dataclasses import dataclass, field

import numpy as np

from rung.core import Action, Task
from rung.envs import Definition, Expert, Subgoal, Template, make, tool


@dataclass
class Shop:
    prices: dict[str, int]
    basket: list[str] = field(default_factory=list)


@tool
def price(shop: Shop, item: str) -> str:
    """Say what an item costs."""
    return str(shop.prices.get(item, "not for sale"))


@tool(irreversible=True)  # runs only with "confirm": true
def buy(shop: Shop, item: str) -> str:
    """Buy an item."""
    shop.basket.append(item)
    return f"bought {item}"


@tool(final=True)  # ends the task: now success is judged
def leave(shop: Shop) -> str:
    """Leave the shop."""
    return "goodbye"


def draw(random: np.random.Generator) -> Task:
    prices = dict(zip(["tea", "rice", "salt"], random.permutation(99)[:3].tolist(), strict=True))
    text = f"Buy the cheapest of {', '.join(prices)} and leave."
    return Task.make(environment="shop", template="cheapest", text=text, data={"prices": prices})


def right(shop: Shop) -> bool:
    return shop.basket == [min(shop.prices, key=lambda item: shop.prices[item])]


def expert(task: Task) -> Expert:
    costs = {}
    for item in task.data["prices"]:
        costs[item] = int((yield Action("price", {"item": item})))
    yield Action("buy", {"item": min(costs, key=lambda item: costs[item]), "confirm": True})
    yield Action("leave", {})


shop = Definition(
    name="shop",
    tools=(price, buy, leave),
    templates=(Template("cheapest", "E1", draw),),
    start=lambda task, random: Shop(**task.data),
    subgoals=lambda task: (Subgoal("bought", right),),
    success=right,
    expert=expert,
)

if __name__ == "__main__":
    env = make(shop)
    text, info = env.reset(seed=0)
    print(text)
    policy = expert(info["task"])
    action, ended = next(policy), False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(action.text)
        print(f"{action.text}  ->  {observation}  reward {reward:+.2f}")
        ended = terminated or truncated
        action = action if ended else policy.send(observation)
    print(info["stop"])
