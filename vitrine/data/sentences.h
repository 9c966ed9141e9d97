#pragma once

#include <string>
#include <vector>

#include "vitrine/data/registry.h"
#include "vitrine/data/vocabulary.h"

namespace vitrine {

/// The sentences that come with the program (texts/sentences.txt), first English, then Korean.
const std::vector<std::string>& sentence_texts();
/// All their words.
const Vocabulary& sentence_vocabulary();

/// The sentences word by word, cut to `length` words: kStart and the words in (B, T), the words and
/// kEnd as targets (B, T), kIgnoreIndex behind them. A fraction `data.validation` of the sentences
/// is held out for validation and as many for the test; if it is 0, all three splits are all
/// sentences. In training, rare words are now and then taken for unknown ones.
DatasetEntry sentences_dataset();

}  // namespace vitrine
