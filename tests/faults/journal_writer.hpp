// What the program journal_writer keeps: so little that most of its time goes into checkpoints.
#pragma once

#include "engine/master/journal/journal_file.hpp"

namespace weft::test {

inline constexpr master::JournalOptions kWriterOptions{.jobs_kept = 20, .checkpoint_bytes = 1};

}  // namespace weft::test
