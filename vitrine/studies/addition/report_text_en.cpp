#include "vitrine/studies/addition/report_text.h"

namespace vitrine {

const ReportWords kEnglishReportWords{
    .page_language = "en",
    .title = "Two-digit addition: CNN against Transformer",
    .intro =
        {"Two numbers from 00 to 99 go in as four digits; the network answers with their sum as "
         "three digits. A CNN (convolutional network) sees the digits as a 2 x 2 grid, a "
         "Transformer as a sequence. A trained network is asked for all 10,000 sums.",
         "Every number on this page was measured by this program, except those marked "
         "\"reference\": they are quoted from the document that this study follows and were "
         "measured with other software on another machine."},
    .glossary =
        {"Carry: the one that goes to the next digit when two digits add up to 10 or more.",
         "Error: the predicted sum minus the true sum; a wrong answer is one whose error is not 0.",
         "Learning rate: how large a step each update of the parameters takes.",
         "Epoch: one pass through the training pairs. Loss: what training makes small.",
         "Seed: the initial state of the random number generator. Runs that differ only in their "
         "seed show how much is chance; the standard deviation says so in one number."},
    .missing = "Not run yet, and therefore not on this page: {0}.",
    .question = "Question: {0}",
    .findings = "What follows:",

    .part_first_sweep = "first sweep ({0})",
    .part_second_sweep = "second sweep ({0})",
    .part_rates = "learning rates ({0})",
    .part_tuned = "final network ({0})",
    .part_metrics = "training loss of the final network ({0})",
    .part_low_rate = "training with a low learning rate ({0})",
    .part_held_out = "held-out pairs ({0})",
    .part_small = "small networks ({0})",
    .part_attention = "attention maps of the Transformer",
    .part_carry_attention = "attention with and without a carry",

    .first_sweep = "First sweep: a low learning rate",
    .second_sweep = "Second sweep: higher learning rates",
    .sweep_question =
        "how do loss, accuracy and training time depend on the embedding dimension, the number of "
        "layers and the number of channels (CNN) or hidden size (Transformer), if one of them is "
        "changed at a time?",
    .sweep_reading =
        "How to read the figures: solid lines are for the embedding dimension, dotted ones for the "
        "layers, dashed ones for the channels or hidden size. They go through the mean over the "
        "seeds. Bands are one standard deviation; in the panel of the loss, whose scale has no "
        "zero, the dots are single runs. Black marks show runs that the time budget stopped and "
        "runs that failed: compare those points with care.",
    .sweep_caption = "{0}: loss, accuracy and training time against the value of each setting.",
    .sweep_runs = "{0} runs; {1} of them were stopped at the time budget, {2} failed.",
    .sweep_best = "Highest mean accuracy: {0:.2f} ± {1:.2f} %, with {2}, after {3:.0f} s.",
    .sweep_ranges =
        "From its worst to its best value, each setting moves the mean accuracy by: "
        "{0}.",
    .sweep_range = "{0} {1:.1f} percentage points",
    .sweep_matters = "Within these ranges, the setting that matters most is: {0}.",

    .rates = "The learning rate",
    .rates_question = "which network is better, and does the answer depend on the learning rate?",
    .rates_caption =
        "Mean accuracy over the seeds; bars are one standard deviation. Shading marks the learning "
        "rates at which one network is clearly ahead: by more than both standard deviations "
        "together, and by more than 0.1 percentage points.",
    .rates_flip =
        "The winner flips. At a learning rate of {0:g} the CNN is ahead, {1:.2f} % against {2:.2f} "
        "%; at {3:g} the Transformer is, {4:.2f} % against {5:.2f} %. Which of the two looks "
        "better "
        "is decided by the learning rate.",
    .rates_one_leads =
        "{0}: the only network that is clearly ahead anywhere, most of all at a "
        "learning rate of {1:g}, {2:.2f} % against {3:.2f} %. In these runs the "
        "winner does not flip.",
    .rates_no_lead = "At none of the shared learning rates is one network clearly ahead.",
    .rates_nothing_shared =
        "The two networks have no learning rate in common at which both "
        "finished a run, so these runs cannot show whether the winner flips.",
    .rates_best = "{0}: best learning rate {1:g}, with {2:.2f} ± {3:.2f} %.",
    .rates_conclusion =
        "A comparison at one common learning rate can therefore be made to favour either network. "
        "So the final networks are each trained with a learning rate of their own.",
    .rates_differ =
        "The best learning rates of the two differ: a fair comparison tunes each "
        "network's learning rate separately.",

    .tuned = "The final networks",
    .tuned_question =
        "can both networks learn addition without a single wrong answer, if each has its "
        "own learning rate?",
    .tuned_source =
        "In the reference, both final networks give the right answer to all 10,000 sums. "
        "Its times were measured on another machine and are here for orientation only.",
    .all_right = "{0}: every one of the 10,000 sums right (runs: {1}).",
    .right_range =
        "{0}: between {1} and {2} of the 10,000 sums right (runs: {3}, of which without "
        "a wrong answer: {4}).",
    .predict_time =
        "{0}: {1:.1f} ms for the 10,000 predictions, mean over the runs (reference: {2} "
        "ms).",
    .loss_question = "how fast do the networks learn, counted in epochs and in seconds?",
    .loss_caption =
        "Training loss of the final networks, one line per seed. All axes are "
        "logarithmic; late epochs are subsampled.",
    .last_loss =
        "{0}: training loss {1:.2g} after {2:.0f} epochs and {3:.0f} s (mean over runs: "
        "{4}; reference: {5} by epoch {6}).",

    .errors = "The wrong answers of the final networks",
    .low_rate = "Training with a low learning rate",
    .low_rate_question =
        "what do the networks get wrong when they are trained with a low learning rate?",
    .low_rate_source =
        "The networks of the reference have an embedding dimension of 4096, 2 layers and 64 "
        "channels or a hidden size of 64. Its times are for 1,000 epochs on another machine.",
    .map_question = "for which pairs of numbers is the answer wrong, and by how much?",
    .map_caption =
        "{0}, seed {1}: of its runs ({2}) the one with the median number of right "
        "answers. Every cell is one pair. Light: right; red: too large; blue: too small.",
    .map_tens =
        "{0}: {1:.1f} % of the wrong answers are off by exactly 10, {2:.1f} % by exactly 90, "
        "{3:.1f} % by something else.",
    .map_mostly_carry =
        "{0}: most wrong answers are off by exactly 10, as if the carry from the units had "
        "been lost or invented.",
    .nothing_wrong = "{0}: no wrong answer in any run.",
    .box_question = "how large are the errors?",
    .box_caption =
        "All runs together. The box holds the middle half of the values, the thick line "
        "is the median, circles are values far from the box.",
    .box_spread =
        "{0}: error {1:.2f} on average, with a standard deviation of {2:.2f} (both "
        "as means over the runs).",
    .box_flat =
        "More than three quarters of all answers are right, so the boxes of all answers "
        "shrink to a line at zero.",
    .top_question = "which errors occur most often?",
    .top_caption = "How often the most frequent errors occur, mean over the runs.",
    .top_source =
        "In the reference, the errors of the CNN gather at +-10, some at +-90; those of the "
        "Transformer lie at +-10 and are more spread out.",
    .kinds_question = "do carries make a sum harder, and which digit goes wrong?",
    .kinds_caption =
        "Left: fraction of wrong sums among the pairs with no, one or two carries. Right: "
        "fraction of sums in which this digit is wrong. Means over the runs; bars are one "
        "standard deviation.",
    .kinds_carries =
        "{0}: wrong are {1:.2f} % of the sums without a carry, {2:.2f} % with one, "
        "{3:.2f} % with two.",
    .kinds_digit = "{0}: most often wrong is the digit of the {1}, in {2:.2f} % of the sums.",

    .held_out = "Pairs held out from training",
    .held_out_question =
        "has a network learned to add, or has it memorised the table? Pairs that are held "
        "out from training show it.",
    .held_out_caption =
        "Accuracy on the pairs that were not used for training, mean over the "
        "seeds; bars are one standard deviation.",
    .held_out_ends =
        "{0}: with {1:g} % of the pairs for training, {2:.2f} % of the unseen ones are "
        "right; with {3:g} %, {4:.2f} %.",
    .held_out_lead =
        "{0}: furthest ahead with {1:g} % of the pairs for training, {2:.2f} % against "
        "{3:.2f} %.",
    .held_out_no_lead = "At none of the shared points is one network clearly ahead.",

    .small = "How small can a network be?",
    .small_question = "how few parameters are enough to add two numbers?",
    .small_all_right =
        "{0}: the smallest with every sum right has {1} parameters ({2}); {3} of its {4} runs got "
        "there.",
    .small_nearly =
        "{0}: the smallest with at least 99 % right has {1} parameters ({2}); {3} of its {4} runs "
        "got there.",
    .small_none = "{0}: none of these gets every sum right.",

    .attention = "What the Transformer looks at",
    .attention_question = "when the Transformer adds {0:02} + {1:02}, which digit looks at which?",
    .attention_caption =
        "One map per layer (L) and head (H). Each row adds up to 1: it shows how "
        "the token at its left distributes its attention.",
    .attention_strongest = "Strongest weight: in {0}, token {1} looks at token {2} with {3:.2f}.",
    .carry_question = "do the heads look elsewhere when the sum needs a carry?",
    .carry_caption =
        "Mean attention over the pairs with a carry minus the mean over those "
        "without. Red: more attention with a carry; blue: less.",
    .carry_strongest = "Largest change: in {0}, from token {1} to token {2}: {3:+.2f}.",
    .attention_caution =
        "Attention weights show where a head looks, not what it does with what it "
        "finds there.",
};

}  // namespace vitrine
