#include "weft/detail/actions.hpp"

namespace weft::detail {

void result_too_large(std::string_view name) {
  throw runtime::TaskError{
      Error(Code::resource_exhausted,
            std::string(name) + ": the result is larger than 256 MiB; write it to files with write_text instead")};
}

void forgive_enough(TaskContext& context) {
  try {
    context.check_thrown();
  } catch (const EnoughRecords&) {
    context.thrown = nullptr;
  }
}

Buffer act_in_a_row(Graph& graph, StageDraft draft, std::string_view name) {
  const auto append_all = [name](std::vector<Buffer>& results) {
    Encoder all;
    for (const Buffer& result : results) {
      all.append(result.view());
      if (all.size() > kMaxResultBytes) result_too_large(name);
    }
    return to_buffer(all);
  };
  return graph.act(std::move(draft), Combine(append_all));
}

void hold(runtime::Account& account, std::uint64_t bytes) {
  const std::uint64_t held = account.used();
  if (bytes > held && !account.try_take(bytes - held)) account.exhausted(bytes);
}

void check_fold(std::uint64_t bytes) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  if (bytes > kMostBytes)
    throw runtime::TaskError{
        Error(Code::resource_exhausted,
              "aggregate: the different values of count_distinct take more than 1 GiB; use approx_count_distinct, or "
              "distinct().count()")};
}

}  // namespace weft::detail
