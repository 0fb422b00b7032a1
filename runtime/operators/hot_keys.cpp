#include "runtime/operators/hot_keys.hpp"

#include <algorithm>

namespace weft::runtime {

HotKeys::~HotKeys() {
  if (into_ == nullptr) return;
  std::erase_if(keys_, [this](const Counted& one) { return one.count < std::max(kLeast, looked_ / kPart); });
  std::ranges::stable_sort(keys_, std::ranges::greater(), &Counted::count);
  for (Counted& one : keys_) {
    if (into_->hot_keys.size() == kReported) break;
    one.key.records = one.count * kInterval;
    into_->hot_keys.push_back(std::move(one.key));
  }
}

void HotKeys::note(std::uint32_t partition, std::string_view text) {
  ++looked_;
  text = text.substr(0, kTextBytes);
  const auto known =
      std::ranges::find_if(keys_, [&](const Counted& one) { return one.key.partition == partition && one.key.text == text; });
  if (known != keys_.end()) {
    ++known->count;
  } else if (keys_.size() < kKept) {
    keys_.push_back({{std::string(text), partition, 0}, 1});
  } else {
    for (Counted& one : keys_) --one.count;
    std::erase_if(keys_, [](const Counted& one) { return one.count == 0; });
  }
}

}  // namespace weft::runtime
