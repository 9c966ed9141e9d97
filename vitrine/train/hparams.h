#pragma once

#include "vitrine/train/config.h"
#include "vitrine/train/tensorboard.h"

namespace vitrine {

/// Every setting of the recipe by its dotted key, but for the run's name; lists as text.
HParams hparams_of(Recipe recipe);

}  // namespace vitrine
