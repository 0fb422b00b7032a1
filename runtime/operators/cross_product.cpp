#include "runtime/operators/cross_product.hpp"

#include "runtime/operators/spill.hpp"

namespace weft::runtime {

void CrossProduct::run_spilled(ValueSource& left, const ValueList& held, ByteView value, ValueSource& right, void* self,
                               void (*pair)(void* self, ByteView left, ByteView right)) {
  SpillFile file(account_);
  SpillWriter writer(file, account_.block_bytes());
  for (const ValueNode* node = held.first; node != nullptr; node = node->next) writer.write(node->bytes());
  do {
    poll_();
    writer.write(value);
  } while (right.next(value));
  const SpillRun run = writer.finish();

  bool more = left.next(value);
  while (more) {
    arena_.clear();
    ValueList group;
    for (; more; more = left.next(value)) {
      ValueNode* node = try_make_value(arena_, value);
      if (node == nullptr && group.first == nullptr) {
        arena_.release();
        node = try_make_value(arena_, value);
      }
      if (node == nullptr && group.first == nullptr) account_.exhausted(value.size());
      if (node == nullptr) break;
      group.append(node);
    }
    SpillReader reader(file, run);
    ByteView other;
    while (reader.next(other)) {
      for (const ValueNode* node = group.first; node != nullptr; node = node->next) {
        poll_();
        pair(self, node->bytes(), other);
      }
    }
  }
}

}  // namespace weft::runtime
