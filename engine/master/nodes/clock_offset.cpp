#include "engine/master/nodes/clock_offset.hpp"

#include "base/text.hpp"

namespace weft::master {

namespace {
constexpr Duration kToleratedOffset = std::chrono::seconds(2);
}  // namespace

bool ClockOffset::add(Duration sample) {
  samples_[count_++ % samples_.size()] = sample;
  if (reported_ || clock_text(ahead()).empty()) return false;
  return reported_ = true;
}

std::string clock_text(Duration ahead) {
  if (ahead > kToleratedOffset) return human_duration(ahead) + " ahead";
  if (ahead < -kToleratedOffset) return human_duration(-ahead) + " behind";
  return {};
}

}  // namespace weft::master
