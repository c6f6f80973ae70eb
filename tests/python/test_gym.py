"""Worlds for agents: the interfaces of Gymnasium and PettingZoo, what agents see, and trained agents as algorithms."""

from __future__ import annotations

import json
import math
import re
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

import dumbbell as db
from dumbbell import gym
from dumbbell.gym import worlds

ROOT = Path(__file__).parents[2]
PATH = {"rate": "6mbit", "rtt": "50ms", "buffer": "30packets"}
WORLD: dict[str, Any] = {"duration": "20s", "path": PATH, "flows": [{"cc": "reno"}]}
TWO: dict[str, Any] = {**WORLD, "flows": [{"cc": "reno"}, {"cc": "cubic", "label": "other"}]}


def test_an_agent_is_an_environment_of_gymnasium() -> None:
    check_env(gym.Env(WORLD, draw=gym.AURORA), skip_render_check=True)


@pytest.mark.parametrize("flows", [[0], [0, "other"]])
def test_agents_of_one_network_are_a_parallel_environment_of_pettingzoo(flows: list[int | str]) -> None:
    environment = gym.ParallelEnv(TWO, flows)
    assert environment.possible_agents == [f"flow_{flow}" for flow in flows]
    parallel_api_test(environment, num_cycles=1000)


def episode(environment: gym.Env, seed: int, steps: int = 60) -> list[Any]:
    rng = np.random.default_rng(seed)
    seen, _ = environment.reset(seed=seed)
    told = [seen.tolist()]
    for _ in range(steps):
        seen, reward, _, _, _ = environment.step(rng.uniform(-1, 1, 1).astype(np.float32))
        told.append((seen.tolist(), reward))
    return told


def test_an_episode_follows_from_its_seed() -> None:
    one, other = (gym.Env({**WORLD, "duration": "600s"}, draw=gym.AURORA) for _ in range(2))
    assert episode(one, 1) == episode(other, 1)
    assert episode(one, 2) != episode(one, 1)
    assert episode(one, 1) == episode(other, 1), "whatever came before"


def test_worlds_of_a_vector_are_those_that_one_alone_is() -> None:
    vector = gym.VectorEnv(WORLD, 3, draw=gym.AURORA, threads=2)
    alone = gym.Env(WORLD, draw=gym.AURORA)
    rng = np.random.default_rng(1)
    seen, _ = vector.reset(seed=7)
    first, _ = alone.reset(seed=7)
    assert seen[0].tolist() == first.tolist()
    assert seen[1].tolist() != seen[2].tolist()
    for _ in range(40):
        actions = rng.uniform(-1, 1, (3, 1)).astype(np.float32)
        seen, rewards, _, _, _ = vector.step(actions)
        own, reward, _, _, _ = alone.step(actions[0])
        assert (seen[0].tolist(), rewards[0]) == (own.tolist(), reward)


def test_a_world_that_is_over_begins_again_with_the_next_step_of_a_vector() -> None:
    vector = gym.VectorEnv({**WORLD, "duration": "2s"}, 2, interval="500ms", observation=["interval_ms"])
    vector.reset(seed=1)
    over = []
    for _ in range(8):
        seen, rewards, terminated, truncated, _ = vector.step(np.zeros((2, 1), np.float32))
        over.append(bool(truncated[0]))
        assert not terminated.any()
        assert len(over) < 2 or not over[-2] or rewards[0] == 0
    assert over.count(True) == 2
    assert seen.shape == (2, 1)


def test_episodes_end_with_the_run_and_have_to_be_reset_then() -> None:
    environment = gym.Env({**WORLD, "duration": "1s"}, interval="300ms")
    environment.reset(seed=1)
    truncated = False
    while not truncated:
        _, _, terminated, truncated, _ = environment.step(np.zeros(1, np.float32))
        assert not terminated
    assert environment.time_s > 1
    with pytest.raises(ValueError, match="the episode is over; reset the environment"):
        environment.step(np.zeros(1, np.float32))


def test_an_agent_that_holds_its_rate_gets_it_and_fills_what_it_is_told_to() -> None:
    names = ["send_rate_mbps", "delivery_rate_mbps", "rtt_ms", "min_rtt_ms", "loss_rate"]
    environment = gym.Env(WORLD, interval="200ms", start_rate="3mbit", observation=names)
    environment.reset(seed=1)
    for _ in range(10):
        seen, _, _, _, _ = environment.step(np.zeros(1, np.float32))
    sent, delivered, rtt, least, loss = seen.tolist()
    assert sent == pytest.approx(3, rel=0.03) and delivered == pytest.approx(3, rel=0.03)
    assert rtt == pytest.approx(least, rel=0.1) and loss == 0
    # 1.25 to the power of 6 is 3.8: more than the link carries.
    for action in [1.0] * 6 + [0.0] * 20:
        seen, _, _, _, _ = environment.step(np.array([action], np.float32))
    sent, delivered, rtt, least, loss = seen.tolist()
    # TCP retransmits what is lost: with headers a packet of 1448 bytes takes 1500.
    assert delivered == pytest.approx(6 * 1448 / 1500, rel=0.03)
    assert sent == pytest.approx(3 * 1.25**6, rel=0.05)
    assert loss == pytest.approx(1 - delivered / sent, abs=0.05)
    assert rtt > 2 * least


def test_a_window_is_kept_and_moved_by_powers_of_two() -> None:
    environment = gym.Env(WORLD, action="window", scale=1, observation=["cwnd", "inflight"])
    seen, _ = environment.reset(seed=1)
    assert seen.tolist() == [10, 10]
    windows = [environment.step(np.array([action], np.float32))[0].tolist() for action in (1.0, 0.0, -1.0, -1.0)]
    assert [window for window, _ in windows] == [20, 20, 10, 5]
    assert windows[1][1] == 20


def test_rewards_are_named_or_weighed() -> None:
    weighed = gym.Env(WORLD, reward={"delivery_rate_mbps": 2, "rtt_ms": -0.5})
    weighed.reset(seed=1)
    _, reward, _, _, _ = weighed.step(np.zeros(1, np.float32))
    known = weighed.features()
    assert reward == pytest.approx(2 * known["delivery_rate_mbps"] - 0.5 * known["rtt_ms"])
    assert set(known) == set(gym.observations())
    aurora = gym.Env(WORLD)
    aurora.reset(seed=1)
    _, reward, _, _, _ = aurora.step(np.zeros(1, np.float32))
    known = aurora.features()
    packets_per_s = known["delivered"] / known["interval_ms"] * 1e3
    assert reward == pytest.approx(10 * packets_per_s - known["rtt_ms"] - 2000 * known["loss_rate"])
    assert aurora.observation_space.shape == (30,)


@pytest.mark.parametrize(
    ("draw", "is_quick"),
    [
        (gym.AURORA, True),
        ({"path.buffer": gym.uniform("3kB", "90kB"), "path.loss": gym.uniform("0%", "2%")}, True),
        ({"path.buffer": gym.log_uniform("0.5bdp", "4bdp"), "path.rtt": gym.uniform("9ms", "90ms")}, False),
        ({"path.queue": gym.choice("fifo", "codel"), "path.rate": gym.uniform("1mbit", "9mbit")}, False),
        ({"transport.initial_cwnd": gym.choice(4, 30)}, False),
    ],
)
def test_any_key_may_be_drawn(draw: dict[str, gym.Distribution], is_quick: bool) -> None:
    environment = gym.Env(WORLD, draw=draw, observation=["delivery_rate_mbps", "rtt_ms"])
    # Simple keys are set in the resolved experiment, because that was found to be the same.
    assert environment._worlds.is_quick == is_quick
    seen = {tuple(environment.reset(seed=seed)[0].tolist()) for seed in range(12)}
    assert len(seen) > 1


def test_settings_and_files_are_those_of_other_commands(tmp_path: Path) -> None:
    file = tmp_path / "world.toml"
    file.write_text('[path]\nrate = "6mbit"\nrtt = "50ms"\n[[flows]]\ncc = "cubic"\n')
    environment = gym.Env(file, set={"path.rtt": "200ms"}, observation=["min_rtt_ms"])
    assert environment.reset(seed=1)[0][0] > 200


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"interval": "fast"}, 'interval = "fast" is no length'),
        ({"interval": "0rtt"}, 'interval = "0rtt" is no length'),
        ({"action": "speed"}, "action = `speed` is not possible; write `rate` or `window`"),
        ({"scale": -1.0}, "scale = -1 is not possible"),
        ({"scale": math.nan}, "^scale = nan: it must be a finite number"),
        ({"reward": {"rtt_ms": math.inf}}, "^reward\\['rtt_ms'\\] = inf: it must be a finite number"),
        ({"observation": ["rtt_mss"]}, "there is no observation `rtt_mss`; did you mean `rtt_ms`"),
        ({"observation": []}, "observation = \\[\\] is not possible"),
        ({"observation": "auroa"}, "write `aurora`, `orca`, or a list"),
        ({"history": 0}, "history = 0 is not possible"),
        ({"reward": {"speed": 1}}, "there is no observation `speed`"),
        ({"action": "window", "start_rate": "1mbit"}, "an agent begins that acts on its rate"),
        ({"flow": 3}, "there is no flow 3; the experiment has 1"),
        ({"flow": "mine"}, "there is no flow `mine`; there are `reno`"),
        ({"draw": {"path.rate": {"normal": [1, 2]}}}, "draw of `path.rate`: .* is no distribution"),
        ({"draw": {"path.rate": gym.uniform("1mbit", "20ms")}}, "its two ends have different units"),
        ({"draw": {"path.rate": gym.uniform("2mbit", "1mbit")}}, "its first end is above its second one"),
        ({"draw": {"path.rate": gym.log_uniform("0mbit", "1mbit")}}, "an amount of 0 has no logarithm"),
        ({"draw": {"path.rate": gym.choice()}}, "there is nothing to choose from"),
    ],
)
def test_what_is_not_possible_is_said(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.Env(WORLD, **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"interval": 0.02}, 'interval=0.02: must be a text, such as "1rtt" or "20ms"'),
        ({"action": 1}, 'action=1: must be a text, such as "rate"'),
        ({"scale": "1"}, "scale='1': must be a number, such as 0.25"),
        ({"start_rate": 1e6}, 'start_rate=1000000.0: must be a text, such as "1mbit"'),
        ({"observation": 3}, "observation=3: must be a text or a list of texts, such as"),
        ({"history": 1.5}, "history=1.5: must be a whole number, such as 10"),
        ({"reward": ["sent"]}, "reward=['sent']: must be a dictionary of names and values, such as"),
        ({"reward": {"rtt_ms": "much"}}, "reward['rtt_ms']='much': must be a number, such as -0.01"),
        ({"draw": ["path.rate"]}, "draw=['path.rate']: must be a dictionary of names and values, such as"),
    ],
)
def test_an_argument_of_another_type_is_named(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        gym.Env(WORLD, **keywords)


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"scale": 0.25, "history": 3, "reward": {"rtt_ms": -0.5}}
    numpys = {"scale": np.float32(0.25), "history": np.int64(3), "reward": {"rtt_ms": np.float32(-0.5)}}
    ours, theirs = gym.Env(WORLD, **given), gym.Env(WORLD, **numpys)  # type: ignore[arg-type]
    assert ours.agent.as_json() == theirs.agent.as_json()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"num_envs": 0}, "num_envs=0: must be 1 or more"),
        ({"num_envs": 2, "threads": 0}, "threads=0: must be 1 or more"),
        ({"num_envs": 2, "threads": -1}, "threads=-1: must be 1 or more"),
    ],
)
def test_of_worlds_and_threads_there_is_one_at_least(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.VectorEnv(WORLD, **keywords)


def test_tables_and_lists_may_be_drawn() -> None:
    queues = gym.choice({"kind": "codel", "target": "1ms"}, {"kind": "fifo"}, "pie")
    rates = gym.choice([["0s", "1mbit"], ["1s", "6mbit"]], "3mbit", {"steps": [["0s", "2mbit"]]})
    environment = gym.Env(WORLD, draw={"path.queue": queues, "path.rate": rates})
    one = gym.Env(WORLD, draw={"path.queue": gym.choice({"kind": "codel", "target": "1ms"})})
    same = gym.Env(WORLD, set={"path.queue": {"kind": "codel", "target": "1ms"}})
    for seed in range(3):
        environment.reset(seed=seed)
        assert one.reset(seed=seed)[0].tolist() == same.reset(seed=seed)[0].tolist()


def test_what_an_experiment_refuses_is_said_with_its_place() -> None:
    with pytest.raises(db.ScenarioError, match=r"path\.rates"):
        gym.Env(WORLD, draw={"path.rates": gym.uniform("1mbit", "2mbit")})
    with pytest.raises(db.ScenarioError, match="2 points; a world is one"):
        gym.Env({**WORLD, "sweep": {"repeat": 2}})
    late = gym.Env({**WORLD, "duration": "1s", "flows": [{"cc": "reno", "start": "990ms"}]})
    with pytest.raises(ValueError, match="before the connections of all agents are there"):
        late.reset(seed=1)
    environment = gym.Env(WORLD)
    environment.reset(seed=1)
    with pytest.raises(ValueError, match="is no number"):
        environment.step(np.array([np.nan], np.float32))


def trained(path: Path, **keywords: Any) -> tuple[gym.Env, np.ndarray, np.ndarray]:
    environment = gym.Env(WORLD, history=2, **keywords)
    rng = np.random.default_rng(3)
    weights, bias = rng.normal(0, 0.3, (1, 6)), np.array([0.1])
    gym.save_policy(path, environment, [(weights, bias)])
    return environment, weights, bias


def test_a_trained_agent_is_an_algorithm_in_every_command(tmp_path: Path) -> None:
    trained(tmp_path / "agent.npz")
    file = tmp_path / "run.toml"
    file.write_text(
        'duration = "5s"\n[path]\nrate = "6mbit"\nrtt = "50ms"\n'
        '[[flows]]\ncc = { policy = "agent.npz" }\n[[flows]]\ncc = "cubic"\n'
    )
    result = db.run(file)
    first, second = result.flows.rows()
    assert first["cc"] == "agent.npz" and first["algorithm"].startswith("agent.npz@")
    assert first["delivered_bytes"] > 0 and second["delivered_bytes"] > 0
    again = db.run(file)
    assert result.flows.rows() == again.flows.rows()
    assert "cc_action" in result.series.columns


def test_a_trained_agent_decides_what_its_network_says(tmp_path: Path) -> None:
    """What it does alone is what somebody outside, with the same network, has it do."""
    path = tmp_path / "agent.npz"
    # One constant action: the rate grows by a twentieth every 100 ms until it is told otherwise.
    environment = gym.Env(WORLD, interval="100ms", start_rate="1mbit", observation=["rtt_ms"])
    gym.save_policy(path, environment, [(np.zeros((1, 1)), np.array([0.2]))])
    alone = db.run({**WORLD, "duration": "2s", "flows": [{"cc": {"policy": str(path)}}]})
    rates = [row["pacing_mbps"] for row in alone.series.rows()]
    # Two seconds less the handshake are 19 intervals of 100 ms and some milliseconds each.
    assert rates[-1] == pytest.approx(1.05**18, rel=0.08)
    assert all(later >= earlier for earlier, later in pairwise(rates))


def test_layers_are_evaluated_as_numpy_does(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    rng = np.random.default_rng(5)
    hidden, last = (rng.normal(0, 1, (8, 2)), rng.normal(0, 1, 8)), (rng.normal(0, 1, (1, 8)), np.array([0.05]))
    environment = gym.Env(WORLD, interval="100ms", observation=["rtt_ratio", "loss_rate"])
    for activation, function in (("tanh", np.tanh), ("relu", lambda x: np.maximum(x, 0))):
        gym.save_policy(path, environment, [hidden, last], activation=activation)
        run = db.run({**WORLD, "duration": "1s", "flows": [{"cc": {"policy": str(path)}}]})
        action = run.series.rows()[-1]["cc_action"]
        told, layers = gym.load_policy(path)
        assert told["observation"] == ["rtt_ratio", "loss_rate"] and told["activation"] == activation
        # Nothing is lost in a second of 6 Mbit/s, and the round-trip time is one or above.
        possible = [
            last[0] @ function(hidden[0] @ [ratio, 0] + hidden[1]) + last[1] for ratio in np.linspace(1, 8, 4000)
        ]
        assert min(abs(float(value[0]) - action) for value in possible) < 2e-3
        assert len(layers) == 2


def test_files_that_are_no_trained_agents_are_refused_with_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"

    def refusal() -> str:
        with pytest.raises(db.ScenarioError) as refused:
            db.run({**WORLD, "flows": [{"cc": {"policy": str(path)}}]})
        return str(refused.value)

    assert "cannot read" in refusal()
    path.write_bytes(b"nothing")
    assert "no file of numpy.savez" in refusal()
    np.savez(path, weight_0=np.zeros((1, 1)))
    assert "there is no array `agent`" in refusal()
    environment, weights, _ = trained(path)
    with np.load(path) as arrays:
        good = dict(arrays)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"weight_0": np.zeros((1, 5), np.float32)}, "it has 6 inputs"),
        ({"weight_0": np.zeros((1, 6), np.int32)}, "must hold float32 or float64"),
        ({"bias_0": np.full(1, np.nan, np.float32)}, "not finite"),
        ({"weight_0": np.zeros((2, 6)), "bias_0": np.zeros(2)}, "the last layer has 2 outputs"),
        ({"agent": np.frombuffer(json.dumps({"interval": "1rtt"}).encode(), np.uint8)}, "missing field"),
    ]
    for wrong, message in cases:
        np.savez(path, **{**good, **wrong})
        assert message in refusal()
    np.savez_compressed(path, **good)
    assert "write numpy.savez, not numpy.savez_compressed" in refusal()
    with pytest.raises(ValueError, match=r"do not go with biases of shape \(3,\)$"):
        gym.save_policy(path, environment, [(weights, np.zeros(3))])
    with pytest.raises(ValueError, match=r"and the 4 outputs before$"):
        gym.save_policy(path, environment, [(np.zeros((4, 6)), np.zeros(4)), (np.zeros((1, 3)), np.zeros(1))])
    with pytest.raises(ValueError, match="has 2 outputs"):
        gym.save_policy(path, environment, [(np.zeros((2, 6)), np.zeros(2))])
    np.savez(path, **good)
    with pytest.raises(db.ScenarioError, match="has no parameter `beta`"):
        db.run({**WORLD, "flows": [{"cc": {"policy": str(path), "beta": 1}}]})


def test_an_agent_that_knows_nothing_learns_to_beat_reno(tmp_path: Path) -> None:
    example = runpy.run_path(str(ROOT / "examples/gym/search.py"))
    worlds, best = example["search"]()
    path = gym.save_policy(tmp_path / "agent.npz", worlds, [(best[np.newaxis, :-1], best[-1:])])
    agent, reno = example["utility"]({"policy": str(path)}), example["utility"]("reno")
    assert agent > 1.5 * reno > 0, (agent, reno)


def test_vectors_are_environments_of_gymnasium() -> None:
    vector = gym.VectorEnv(WORLD, 2)
    assert isinstance(vector, gymnasium.vector.VectorEnv)
    seen, _ = vector.reset(seed=1)
    assert vector.observation_space.contains(seen)
    assert vector.action_space.contains(vector.action_space.sample())


@pytest.mark.parametrize("protocol", ["tcp", "quic"])
def test_agents_act_over_both_transports_and_beside_algorithms_of_ones_own(protocol: str) -> None:
    other = {"cc": {"python": str(ROOT / "examples/own/reno.py:Reno")}, "start": "500ms"}
    flows = [{"cc": "reno", "transport": protocol}, other]
    environment = gym.Env(
        {**WORLD, "flows": flows}, interval="100ms", start_rate="2mbit", observation=["send_rate_mbps"]
    )
    environment.reset(seed=1)
    for _ in range(5):
        environment.step(np.zeros(1, np.float32))
    sent = environment.step(np.ones(1, np.float32))[0]
    assert sent[0] == pytest.approx(2 * 1.25, rel=0.1), "the rate holds at once"


def agent(**changes: Any) -> worlds.Agent:
    known = {"interval": "1rtt", "action": "rate", "scale": None, "start_rate": None, "observation": "aurora",
             "history": None, "reward": "aurora"}  # fmt: skip
    return worlds.Agent(**{**known, **changes})


def test_what_an_agent_is_goes_to_the_engine_and_into_its_file() -> None:
    plain = agent()
    assert json.loads(plain.as_json()) == plain.__dict__
    assert plain.as_policy() == {"interval": "1rtt", "action": "rate", "observation": "aurora"}
    weighed = agent(observation=("rtt_ms", "cwnd"), reward={"rtt_ms": -1.0}, scale=0.0, history=3)
    told = json.loads(weighed.as_json())
    assert (told["observation"], told["reward"]) == (["rtt_ms", "cwnd"], {"rtt_ms": -1.0})
    assert weighed.as_policy() == {
        "interval": "1rtt", "action": "rate", "scale": 0.0, "observation": ["rtt_ms", "cwnd"], "history": 3,
    }  # fmt: skip


def test_draws_are_named_by_their_kind() -> None:
    assert gym.uniform(1, "2ms") == {"uniform": [1, "2ms"]}
    assert gym.log_uniform("1mbit", "9mbit") == {"log_uniform": ["1mbit", "9mbit"]}
    assert gym.choice("a", 1, True) == {"choice": ["a", 1, True]}
    meanings = gym.observations()
    assert "rtt_ms" in meanings and all(meanings.values())


def test_environments_of_all_kinds_hand_on_what_they_are_given() -> None:
    given: dict[str, Any] = {
        "interval": "50ms", "action": "window", "scale": 0.5, "observation": ["rtt_ms", "cwnd"], "history": 3,
        "reward": {"cwnd": 1.0}, "draw": {"path.rate": gym.choice("1mbit")}, "set": {"path.rtt": "150ms"},
    }  # fmt: skip
    env, vector = gym.Env(TWO, flow="other", **given), gym.VectorEnv(TWO, 3, flow="other", threads=1, **given)
    several = gym.ParallelEnv(TWO, [1, 0], **given)
    for made in (env, vector, several):
        own = {name: value for name, value in given.items() if name not in ("draw", "set")}
        assert made.agent == worlds.Agent(start_rate=None, **own)
    rated = {"start_rate": "3mbit", "interval": "100ms", "observation": ["send_rate_mbps"]}
    assert [made.agent.start_rate for made in (gym.Env(WORLD, **rated), gym.VectorEnv(WORLD, 1, **rated),  # type: ignore[arg-type]
                                               gym.ParallelEnv(WORLD, [0], **rated))] == ["3mbit"] * 3  # type: ignore[arg-type]  # fmt: skip
    # Three intervals of two numbers, the last of which is the window; the round trip is the one that was set.
    for seen in (env.reset(seed=1)[0], vector.reset(seed=1)[0][2], several.reset(seed=1)[0]["flow_1"]):
        assert seen.shape == (6,) and seen.dtype == np.float32
        assert seen[4] > 150 and seen[5] == 10
    one = np.ones(1, np.float32)
    after, reward, terminated, truncated, info = env.step(one)
    assert after[5] == pytest.approx(10 * 2**0.5, abs=1) and reward == after[5]
    assert (terminated, truncated, info) == (False, False, {})
    assert isinstance(reward, float)
    _, rewards, ends, overs, info = vector.step(np.ones((3, 1), np.float32))
    assert rewards.dtype == np.float64 and rewards.tolist() == [reward] * 3
    assert ends.dtype == overs.dtype == np.bool_
    assert (ends.tolist(), overs.tolist(), info) == ([False] * 3, [False] * 3, {})
    assert vector.features(2)["cwnd"] == reward == env.features()["cwnd"]
    _, earned, ended, over, info = several.step({"flow_1": one, "flow_0": -one})
    assert list(earned) == ["flow_1", "flow_0"] and earned["flow_1"] > 12 > 8 > earned["flow_0"]
    assert (ended, over) == ({"flow_1": False, "flow_0": False},) * 2
    assert info == {"flow_1": {}, "flow_0": {}}


def test_spaces_are_those_of_what_is_seen_and_done() -> None:
    env, vector = gym.Env(WORLD, history=2), gym.VectorEnv(WORLD, 3, history=2)
    several = gym.ParallelEnv(TWO, [0, 1], history=2)
    seen = [env.observation_space, vector.single_observation_space, several.observation_space("flow_1")]
    done = [env.action_space, vector.single_action_space, several.action_space("flow_0")]
    for space in seen:
        assert isinstance(space, gymnasium.spaces.Box)
        assert (space.shape, space.dtype.name, space.low.min(), space.high.max()) == ((6,), "float32", -1e9, 1e9)
    for space in done:
        assert isinstance(space, gymnasium.spaces.Box)
        assert (space.shape, space.dtype.name, space.low.tolist(), space.high.tolist()) == ((1,), "float32", [-1], [1])
    assert (vector.num_envs, vector.observation_space.shape, vector.action_space.shape) == (3, (3, 6), (3, 1))
    with pytest.raises(ValueError, match="one seed, from which each has its own"):
        vector.reset(seed=[1, 2, 3])


def test_agents_leave_with_the_end_of_their_episode() -> None:
    several = gym.ParallelEnv({**TWO, "duration": "1s"}, [0, "other"], interval="300ms")
    assert several.agents == []
    for seed in (1, 1):
        several.reset(seed=seed)
        assert several.agents == ["flow_0", "flow_other"]
        steps = 0
        while several.agents:
            _, earned, ended, over, _ = several.step({name: np.zeros(1, np.float32) for name in several.agents})
            steps += 1
            assert list(earned) == ["flow_0", "flow_other"] and not any(ended.values())
            assert all(over.values()) == (not several.agents)
        assert steps == 3


def test_what_is_observed_is_a_copy_of_its_own() -> None:
    env, vector = gym.Env(WORLD), gym.VectorEnv(WORLD, 1)
    for made, action in ((env, np.zeros(1, np.float32)), (vector, np.zeros((1, 1), np.float32))):
        first = made.reset(seed=1)[0]
        kept = first.copy()
        later = made.step(action)[0]
        first[...] = 7.0
        later[...] = 7.0
        assert not np.array_equal(kept, first)
    assert env.np_random is not None


def test_a_trained_agent_in_a_file_has_its_layers_and_their_activations(tmp_path: Path) -> None:
    environment = gym.Env(WORLD, history=2)
    first, last = (np.ones((4, 6)), np.zeros(4)), (np.ones((1, 4)), np.ones(1))
    for given, told in (
        ("relu", "relu"), (["relu", "none"], "relu"), (["relu", "tanh"], ["relu", "tanh"]), (["none"] * 2, "none"),
    ):  # fmt: skip
        for ending in ("npz", "onnx"):
            path = gym.save_policy(tmp_path / f"agent.{ending}", environment, [first, last], activation=given)
            policy, layers = gym.load_policy(path)
            assert policy["activation"] == told
            assert [(weights.shape, biases.shape) for weights, biases in layers] == [((4, 6), (4,)), ((1, 4), (1,))]
            assert {array.dtype for layer in layers for array in layer} == {np.dtype(np.float32)}
            assert policy["history"] == 2
    assert (
        gym.load_policy(gym.save_policy(tmp_path / "a.npz", environment.agent, [first, last]))[0]["activation"]
        == "tanh"
    )


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ([], "the last of 0 layers has 0 outputs, but an action is one number"),
        ([(np.ones(6), np.zeros(6))], r"layer 0: weights of shape \(6,\) do not go with"),
        (
            [(np.ones((1, 6)), np.zeros(2))],
            r"layer 0: weights of shape \(1, 6\) do not go with biases of shape \(2,\)$",
        ),
        ([(np.full((1, 6), np.inf), np.zeros(1))], "layer 0: a number is not finite"),
        ([(np.ones((1, 6)), np.array([np.nan]))], "layer 0: a number is not finite"),
        ([(np.ones((4, 6)), np.zeros(4)), (np.ones((1, 3)), np.zeros(1))], "layer 1: .* and the 4 outputs before$"),
        (
            [(np.ones((1, 7)), np.zeros(1))],
            r"agent\.npz` is no trained agent: weight_0 has the shape \[1, 7\], but it has 6 inputs",
        ),
    ],
)
def test_layers_that_do_not_go_together_are_not_saved(layers: list[Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        gym.save_policy(tmp_path / "agent.npz", gym.Env(WORLD, history=2), layers)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_trained_agent_is_named(tmp_path: Path) -> None:
    text, other, lacking = tmp_path / "text.npz", tmp_path / "agent.toml", tmp_path / "lacking.npz"
    text.write_text("a text")
    other.write_text("a text")
    np.savez(lacking, weight_0=np.zeros((1, 3)))
    for path, said in ((text, "is no trained agent: it is no file of numpy.savez"), (lacking, "is no trained agent")):
        with pytest.raises(ValueError, match=re.escape(str(path)) + f".* {said}"):
            gym.load_policy(path)
    with pytest.raises(ValueError, match=r"agent\.toml: a trained agent is a file whose name ends in \.npz or \.onnx"):
        gym.load_policy(other)
    with pytest.raises(FileNotFoundError):
        gym.load_policy(tmp_path / "none.npz")
