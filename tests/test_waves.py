import numpy as np
import pytest
from analytic import product_expert, sum_expert

from modgrok.inspection.order import Labels, natural_order
from modgrok.inspection.waves import fit_labels, fit_waves, fold, wrap
from modgrok.networks.circuit import Expert


def additive_order(p):
    return natural_order("additive", p, 1).labels.outputs


def multiplicative_order(p):
    return natural_order("multiplicative", p, 1).labels.outputs


def angle_between(a, b):
    return np.abs(np.angle(np.exp(1j * (np.asarray(a) - np.asarray(b)))))


def expert_of(columns, readout):
    """An expert with one neuron, from its blocks."""
    return Expert(np.array(columns, float)[:, :, None], np.array(readout, float)[None], len(columns))


def test_wrap_and_fold():
    np.testing.assert_allclose(wrap(np.array([np.pi, -np.pi, 3 * np.pi, 0.5 - 2 * np.pi])), [np.pi] * 3 + [0.5])
    assert fold(np.array([0, 1, 48, 49, 96, -1]), 97).tolist() == [0, 1, 48, 48, 1, 1]
    assert fold(np.array([48, 49]), 96).tolist() == [48, 47]


@pytest.mark.parametrize(
    "p, coefficients, offset",
    [
        (3, (1, 1), 0),
        (5, (1, 2), 3),
        (11, (1, 1, 1), 0),
        (23, (2, -3), 0),
        (23, (1, -1), 7),
        (97, (5, 1), 96),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_waves_of_a_sum_are_the_ones_drawn(p, coefficients, offset, dtype):
    expert, frequencies, phases = sum_expert(
        p, 60, coefficients, rng=np.random.default_rng(1), offset=offset, dtype=dtype
    )
    waves = fit_waves(expert, additive_order(p))
    assert [c % p for c in waves.multipliers] == [c % p for c in coefficients]
    assert waves.offset == offset
    assert waves.frequency.tolist() == frequencies.tolist()
    assert waves.common.all() and waves.has_phases.all() and waves.alive.all() and not waves.constant.any()
    tolerance = 1e-6 if dtype == np.float32 else 1e-12
    assert angle_between(waves.phase[:-1], phases).max() < tolerance
    assert np.abs(waves.residual).max() < tolerance
    np.testing.assert_allclose(waves.amplitude, 1, atol=tolerance)
    np.testing.assert_allclose(waves.explained, 1, atol=tolerance)


@pytest.mark.parametrize("p, root, exponents", [(7, 3, (1, 1)), (23, 5, (3, 1)), (97, 5, (1, 1)), (97, 5, (5, -1))])
def test_waves_of_a_product_lie_in_the_order_of_logarithms(p, root, exponents):
    expert, frequencies, phases = product_expert(p, 61, exponents, rng=np.random.default_rng(2), root=root)
    waves = fit_waves(expert, multiplicative_order(p))
    assert waves.constant.tolist() == [False] * 60 + [True]
    assert waves.multipliers == exponents and waves.offset == 0
    assert waves.frequency[:-1].tolist() == frequencies.tolist()
    assert waves.common[:-1].all()
    assert np.abs(waves.residual[waves.has_phases]).max() < 1e-12
    drawn = angle_between(waves.phase[:-1, :-1], phases)[:, waves.has_phases[:-1]]
    assert drawn.size and drawn.max() < 1e-12


def test_an_exponent_that_shares_a_factor_with_the_period_is_found_from_all_neurons_together():
    """At p = 97, n1² n2, the frequencies 2f and f of a neuron with even f leave c_1 open: 2 or 2 + 48."""
    expert, frequencies, _ = product_expert(97, 61, (2, 1), rng=np.random.default_rng(3), root=5)
    even = Expert(expert.embed[:, :, :-1][:, :, frequencies % 2 == 0], expert.readout[:-1][frequencies % 2 == 0], 2)
    for part in (expert, even):
        waves = fit_waves(part, multiplicative_order(97))
        assert waves.multipliers == (2, 1)
        assert waves.common[waves.active].all()
        assert np.abs(waves.residual[waves.has_phases]).max() < 1e-12


def test_a_law_off_by_one_step_of_the_logarithm_is_an_offset():
    """Listing the residues from g^1 instead of g^0 relabels r_1 + r_2 = q as r_1 + r_2 + 1 = q."""
    expert, _, _ = product_expert(23, 61, (1, 1), rng=np.random.default_rng(4), root=5)
    waves = fit_waves(expert, np.roll(multiplicative_order(23), -1))
    assert waves.offset == 1
    assert np.abs(waves.residual[waves.has_phases]).max() < 1e-12


def test_half_of_the_period_has_a_sign_and_no_phase():
    r = np.arange(6)
    waves = fit_waves(expert_of([3 * (-1.0) ** r, -((-1.0) ** r)], (-1.0) ** r), additive_order(6))
    assert waves.frequency.tolist() == [3] and waves.amplitude[:, 0].tolist() == [3, 1, 1]
    assert waves.common.all() and not waves.has_phases.any()
    np.testing.assert_allclose(waves.explained, 1)


def test_noise_has_no_multipliers_no_offset_and_no_common_frequency():
    rng = np.random.default_rng(5)
    waves = fit_waves(Expert(rng.normal(size=(2, 97, 300)), rng.normal(size=(300, 97)), 2), additive_order(97))
    assert waves.multipliers == (1, 1) and waves.offset == 0
    assert waves.common.mean() < 0.02
    assert np.median(np.abs(waves.residual)) == pytest.approx(np.pi / 2, abs=0.25)


@pytest.mark.parametrize("p", [2, 3])
def test_the_smallest_moduli_and_zero_blocks_give_finite_numbers(p):
    rng = np.random.default_rng(6)
    expert = Expert(rng.normal(size=(2, p, 8)), rng.normal(size=(8, p)), 2)
    expert.embed[0, :, :2], expert.readout[1:3] = 0, 0
    expert.embed[:, :, 3], expert.readout[3] = 0, 0
    orders = [additive_order(p)] + ([multiplicative_order(p)] if p > 2 else [])
    for order in orders:
        waves = fit_waves(expert, order)
        for values in (waves.amplitude, waves.phase, waves.explained, waves.residual):
            assert np.isfinite(values).all()
        assert not waves.alive[3] and not waves.present[:, 3].any()
        assert waves.amplitude[0, 0] == 0 and waves.explained[0, 0] == 0
        assert not waves.has_phases[:4].any()


def test_labels_that_are_an_order_give_the_waves_of_that_order():
    rng = np.random.default_rng(8)
    expert = Expert(rng.normal(size=(2, 11, 30)), rng.normal(size=(30, 11)), 2)
    for order in (additive_order(11), multiplicative_order(11)):
        waves = fit_waves(expert, order)
        again = fit_labels(expert, waves.labels)
        assert waves.multipliers == (1, 1)
        for name in ("frequency", "amplitude", "explained", "share", "turns", "common", "alive", "constant"):
            np.testing.assert_allclose(getattr(again, name), getattr(waves, name), atol=1e-12, err_msg=name)
        assert angle_between(again.phase, waves.phase).max() < 1e-9


def test_labels_may_repeat_and_miss_places_and_classes_may_share_them():
    """n1² at 6 of 11 places, 3 n2 at all, and the classes t² of which five lie at two places and five at none."""
    rng, i = np.random.default_rng(9), np.arange(11)
    labels = Labels(11, np.stack([i**2 % 11, 3 * i % 11]), i**2 % 11)
    frequency, phases = rng.integers(1, 6, 40), rng.uniform(-np.pi, np.pi, (2, 40))
    embed = np.cos(2 * np.pi / 11 * labels.tables[:, :, None] * frequency + phases[:, None, :])
    readout = np.zeros((40, 11))
    for k in range(40):
        for t in range(11):
            readout[k, t * t % 11] += np.cos(2 * np.pi / 11 * frequency[k] * t + phases[:, k].sum())
    waves = fit_labels(Expert(embed, readout, 2), labels)
    assert waves.frequency.tolist() == frequency.tolist() and waves.common.all()
    np.testing.assert_allclose(waves.explained, 1, atol=1e-12)
    np.testing.assert_allclose(waves.amplitude[:2], 1, atol=1e-12)
    assert angle_between(waves.phase[:2], phases).max() < 1e-9
    assert not waves.turns[-1].any(), "classes t and -t coincide, so that the readout has only a sign"
