"""Every code that admission can answer with. The set is closed: `docs/refusals.md` shows an example of each.

A code never changes its meaning and is never reused; dashboards and support pages key on it. Sentences may be
reworded at any time. Only what `wire/` could not read of a pod at all brings a code of its own.
"""

from enum import StrEnum


class Code(StrEnum):
    """Why a pod is refused."""

    NO_CONTAINERS = "no-containers"
    PRIVILEGED = "privileged"
    TOO_MANY_CONTAINERS = "too-many-containers"

    AMOUNT_EMPTY = "amount-empty"
    AMOUNT_UNREADABLE = "amount-unreadable"
    AMOUNT_ZERO = "amount-zero"
    AMOUNT_NEGATIVE = "amount-negative"
    AMOUNT_FRACTIONAL = "amount-fractional"
    AMOUNT_TOO_LARGE = "amount-too-large"
    LIMIT_DIFFERS_FROM_REQUEST = "limit-differs-from-request"
    REQUEST_WITHOUT_LIMIT = "request-without-limit"
    HOST_AMOUNT = "host-amount"

    RESOURCE_RENAMED = "resource-renamed"
    TWO_VENDORS = "two-vendors"
    WHOLE_AND_SLICE = "whole-and-slice"
    SLICE_WITHOUT_COUNT = "slice-without-count"
    CORES_OUT_OF_RANGE = "cores-out-of-range"
    MEMORY_BELOW_ONE_MIB = "memory-below-one-mib"
    MEMORY_BELOW_ONE_STEP = "memory-below-one-step"
    MEMORY_AMBIGUOUS = "memory-ambiguous"
    MEMORY_NOT_A_TIER = "memory-not-a-tier"
    SEVERAL_CARDS_IN_SLICES = "several-cards-in-slices"
    ONE_CARD_PER_POD = "one-card-per-pod"

    KOORDINATOR_WITHOUT_VENDOR = "koordinator-without-vendor"
    KOORDINATOR_MIXED_WORDS = "koordinator-mixed-words"
    KOORDINATOR_COMBINATION = "koordinator-combination"
    KOORDINATOR_CORE_MISSING = "koordinator-core-missing"
    KOORDINATOR_UNIT = "koordinator-unit"
    KOORDINATOR_COUNT_MISMATCH = "koordinator-count-mismatch"
    KOORDINATOR_SEVERAL_CONTAINERS = "koordinator-several-containers"
    KOORDINATOR_OTHER_VENDOR = "koordinator-other-vendor"
    KOORDINATOR_OTHER_DEVICE = "koordinator-other-device"
    KOORDINATOR_FORMER_NAME = "koordinator-former-name"

    NODE_POLICY_UNKNOWN = "node-policy-unknown"
    CARD_POLICY_UNKNOWN = "card-policy-unknown"
    CARD_POLICY_REPEATED = "card-policy-repeated"
    WEIGHTS_MALFORMED = "weights-malformed"
    NOT_A_BOOLEAN = "not-a-boolean"
    SCOPE_UNKNOWN = "scope-unknown"
    SCOPE_CONFLICT = "scope-conflict"
    HINT_MALFORMED = "hint-malformed"
    HINT_FIELD_UNKNOWN = "hint-field-unknown"
    HINT_SCOPE_UNKNOWN = "hint-scope-unknown"
    HINT_WORD_UNKNOWN = "hint-word-unknown"
    HINT_UNSUPPORTED = "hint-unsupported"
    HINT_OTHER_DEVICE = "hint-other-device"
    ISOLATION_PROVIDER = "isolation-provider"
    QOS_UNKNOWN = "qos-unknown"
    APP_CLASS_UNKNOWN = "app-class-unknown"
    APP_CLASS_SEVERAL_CARDS = "app-class-several-cards"
    MACA_UNKNOWN = "maca-unknown"
    LIST_WITH_GAP = "list-with-gap"
    LIST_ENTRY_UNREADABLE = "list-entry-unreadable"
    LIST_LEAVES_NOTHING = "list-leaves-nothing"
    LIST_FOR_ONE_VENDOR = "list-for-one-vendor"


class CautionCode(StrEnum):
    """What is legal but rarely meant; the pod is taken and its author is told."""

    COMPUTE_DEFAULTS_TO_WHOLE_CARD = "compute-defaults-to-whole-card"
    MEMORY_DEFAULTS_TO_WHOLE_CARD = "memory-defaults-to-whole-card"
    MEMORY_ABOVE_LARGEST_CARD = "memory-above-largest-card"
    COMPUTE_NOT_LIMITED = "compute-not-limited"
    NO_COMPUTE_RESERVED = "no-compute-reserved"
    COMPUTE_IS_A_WEIGHT = "compute-is-a-weight"
    COMPUTE_ROUNDED_UP = "compute-rounded-up"
    MEMORY_ROUNDED_DOWN = "memory-rounded-down"
    CARD_COUNT_FRAGMENTS = "card-count-fragments"
    LISTED_IN_BOTH = "listed-in-both"
    LIST_NEEDS_NAMED_CARDS = "list-needs-named-cards"
    PRODUCT_UNKNOWN = "product-unknown"
    ANNOTATION_WITHOUT_EFFECT = "annotation-without-effect"
