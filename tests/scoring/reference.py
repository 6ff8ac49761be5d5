"""The scores written down once more, as plainly as possible: loops, direct convolutions, no rings, nothing incremental.

Written from the definitions, not from the package; slow on purpose. float64 throughout.
"""

import numpy as np
import torch
import torch.nn.functional as F

from donkey_aicc.nets.trained_nets import load_nets


def features_of_window(u, latent_norm):
    """The nine control features of one window, by loops over lists."""
    u, latent_norm = [float(x) for x in u], [float(x) for x in latent_norm]
    n = len(u)
    du = [u[t + 1] - u[t] for t in range(n - 1)]
    dl = [latent_norm[t + 1] - latent_norm[t] for t in range(n - 1)]
    turning = [abs(u[t]) > 0.15 for t in range(n - 1)]
    held = [abs(change) < 0.02 for change in du]

    longest = longest_turning = run = run_turning = 0
    for t in range(n - 1):
        run = run + 1 if held[t] else 0
        run_turning = run_turning + 1 if held[t] and turning[t] else 0
        longest, longest_turning = max(longest, run), max(longest_turning, run_turning)

    turns = sum(turning)
    held_fraction = sum(h and t for h, t in zip(held, turning, strict=True)) / turns if turns >= 3 else 0.0

    changes = [change for change in du if change != 0]
    pairs = list(zip(changes[:-1], changes[1:], strict=True))
    reversal_rate = sum(a * b < 0 for a, b in pairs) / len(pairs) if pairs else 0.0

    jerks = [abs(u[t + 1] - 2 * u[t] + u[t - 1]) for t in range(1, n - 1)]
    jerk = sum(jerks) / len(jerks) if jerks else 0.0

    peak, lag = _correlation_peak(du, dl, sum(latent_norm) / n)
    ratio = _high_frequency_ratio(u)
    return [longest, longest_turning, held_fraction, reversal_rate, jerk, sum(u) / n, peak, ratio, lag]


def _correlation_peak(du, dl, mean_norm):
    n = len(du)
    if n < 2:
        return 0.0, 0
    a = [x - sum(du) / n for x in du]
    b = [x - sum(dl) / n for x in dl]
    size_a, size_b = sum(x * x for x in a) ** 0.5, sum(x * x for x in b) ** 0.5
    if size_a / n**0.5 <= 1e-6 or size_b / n**0.5 <= 1e-5 * mean_norm:
        return 0.0, 0
    best, best_lag = 0.0, 0
    for k in range(min(10, n - 1) + 1):
        c = sum(a[t] * b[t + k] for t in range(n - k)) / (size_a * size_b)
        if abs(c) > abs(best):
            best, best_lag = c, k
    return best, best_lag


def _high_frequency_ratio(u):
    n = len(u)
    mean = sum(u) / n
    centred = [x - mean for x in u]
    if (sum(x * x for x in centred) / n) ** 0.5 <= 1e-6:
        return 0.0
    bins = n // 2 + 1
    energy = []
    for k in range(bins):
        turn = [complex(np.cos(2 * np.pi * k * t / n), -np.sin(2 * np.pi * k * t / n)) for t in range(n)]
        energy.append(abs(sum(x * w for x, w in zip(centred, turn, strict=True))) ** 2)
    return sum(energy[bins // 2 :]) / sum(energy)


def plain_step(net, z, action, state, recurrent, between):
    """One step of the dynamics for one batch, with ordinary convolutions."""
    embedded = net.action(action).view(-1, 32, 4, 4)
    x = torch.cat([(z - net.latent_mean) / net.latent_std, embedded], dim=1)
    new_state = []
    for layer, cell in enumerate(net.cells):
        hidden, memory = state[layer]
        if layer == 1:
            x = x * between[:, :, None, None]
        joined = torch.cat([x, hidden * recurrent[layer][:, :, None, None]], dim=1)
        gates = F.conv2d(joined, cell.gates.weight, padding=1)
        gates = F.group_norm(gates, 4, cell.norm.weight, cell.norm.bias, cell.norm.eps)
        i, f, o, c = gates.chunk(4, dim=1)
        memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(c)
        x = torch.sigmoid(o) * torch.tanh(memory)
        new_state.append((x, memory))
    change, gate = F.conv2d(x, net.head.weight, net.head.bias, padding=1).chunk(2, dim=1)
    return z + torch.sigmoid(gate) * change * net.latent_std, new_state


def zero_state(batch):
    return [(torch.zeros(batch, 128, 4, 4).double(), torch.zeros(batch, 128, 4, 4).double()) for _ in range(2)]


def rollout_features(net, latents, actions, recurrent, between_of_frame, rollout_masks):
    """Prime a fresh state with the given frames, then look ahead with the last command held.

    latents: n tensors (1, 64, 4, 4). actions: (n, 2) normalised. between_of_frame: n arrays (S, 128).
    rollout_masks: (K, S, 128), whose first row is the last frame's.
    """
    samples = len(rollout_masks[0])
    state = zero_state(samples)
    recurrent = [torch.as_tensor(mask).double() for mask in recurrent]
    for latent, action, between in zip(latents, actions, between_of_frame, strict=True):
        command = torch.as_tensor(action).double()[None].repeat(samples, 1)
        z, state = plain_step(net, latent.repeat(samples, 1, 1, 1), command, state, recurrent, torch.as_tensor(between).double())
    spreads = [_disagreement(z)]
    for between in rollout_masks[1:]:
        z, state = plain_step(net, z, command, state, recurrent, torch.as_tensor(between).double())
        spreads.append(_disagreement(z))
    return [np.mean(spreads), np.max(spreads), np.std(spreads)]


def _disagreement(z):
    return float(z.flatten(1).numpy().std(axis=0).mean())


@torch.no_grad()
def score_sequence(bundle, images, actions, randomness, *, context, rollout_steps, rollout_every, window_priming=False):
    """rho_raw (N,), features (N, 12), latent (N, 64) of one sequence; everything anew for every frame.

    window_priming: prime with the context's frames alone (a true cold start) instead of the whole past.
    """
    nets = load_nets(bundle)
    vae, net = nets.vae.double(), nets.dynamics.double()
    normalised = (actions - bundle.action_stats.mean) / bundle.action_stats.std
    pixels = [torch.as_tensor(image).permute(2, 0, 1)[None].double() / 255 for image in images]
    latents = [vae.encode(x)[0] for x in pixels]
    errors = [float(((vae.decode(z) - x) ** 2).mean()) for x, z in zip(pixels, latents, strict=True)]
    norms = [float((z**2).sum() ** 0.5) for z in latents]
    recurrent = randomness.recurrent_masks()
    betweens = [randomness.between_masks(t, 1)[0] for t in range(len(images))]
    rho, features, pooled = [], [], []
    # A rollout takes equal shares of its steps in each frame, and counts from the frame on in which it is done.
    frames_of_a_rollout = int(np.ceil(rollout_steps / np.ceil(rollout_steps / rollout_every)))
    rollout, next_rollouts = [np.nan] * 3, {}
    for t in range(len(images)):
        first = max(0, t - context + 1)
        if t % rollout_every == 0:
            start = first if window_priming else 0
            masks = randomness.between_masks(t, rollout_steps)
            past = slice(start, t + 1)
            found = rollout_features(net, latents[past], normalised[past], recurrent, betweens[past], masks)
            next_rollouts[t + frames_of_a_rollout - 1] = found
        rollout = next_rollouts.get(t, rollout)
        rho.append(np.mean(errors[first : t + 1]))
        features.append(rollout + features_of_window(actions[first : t + 1, 0], norms[first : t + 1]))
        pooled.append(torch.cat(latents[first : t + 1]).mean(dim=(0, 2, 3)).numpy())
    return np.array(rho), np.array(features), np.array(pooled)
