// What ends a dataset: values for the driver (collect, count, first, reduce) and files (write_text, write_records).
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/account.hpp"
#include "storage/compression/compression.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/named_outputs.hpp"
#include "weft/detail/stage.hpp"
#include "weft/detail/task_file.hpp"
#include "weft/text.hpp"

namespace weft {

/// The compression of the files that write_text writes.
using Compression = storage::Compression;

}  // namespace weft

namespace weft::detail {

inline constexpr std::uint64_t kMaxResultBytes = 256u << 20;

/// Thrown through the chain by a task that needs no more records.
struct EnoughRecords {};
/// Behind the chain: to have enough is no failure. Throws what else was kept on the way, by user functions that caught it.
void forgive_enough(TaskContext& context);

[[noreturn]] void result_too_large(std::string_view name);

inline Buffer to_buffer(const Encoder& encoder) { return Buffer::copy_of(encoder.view()); }

/// An action whose value is what its tasks returned, one behind the other.
Buffer act_in_a_row(Graph& graph, StageDraft draft, std::string_view name);

/// The first `limit` records of each task, one after the other, task after task.
template <class D>
Buffer gather(const D& in, std::string name, std::uint64_t limit) {
  using T = Owned<typename D::Record>;
  WEFT_REQUIRE_CODEC(T);
  StageDraft draft = result_stage(in.lineage(), name, type_name<T>());
  draft.body = make_body([chain = in.chain(), name, limit](TaskContext& context) {
    Encoder out;
    std::uint64_t left = limit;
    try {
      if (left == 0) throw EnoughRecords{};
      chain.run(context, [&](typename D::Record&& record) {
        if (left == 0) [[unlikely]]
          throw EnoughRecords{};  // again: a user function has caught the first
        if constexpr (Encodable<typename D::Record>) {
          encode(record, out);
        } else {
          encode(to_owned(std::move(record)), out);
        }
        if (out.size() > kMaxResultBytes) result_too_large(name);
        if (--left == 0) throw EnoughRecords{};
      });
    } catch (const EnoughRecords&) {
      forgive_enough(context);
    }
    return to_buffer(out);
  });
  return act_in_a_row(*in.graph(), std::move(draft), name);
}

template <class D>
auto collect(const D& in, std::string name, std::uint64_t limit) {
  using T = Owned<typename D::Record>;
  const Buffer value = gather(in, std::move(name), limit);
  std::vector<T> records;
  for (Decoder decoder(value.view()); !decoder.empty() && records.size() < limit;) records.push_back(decode<T>(decoder));
  return records;
}

/// An Acc that may become large.
template <class Acc>
concept LargeFold = requires(const Acc& acc) {
  acc->held_bytes();
};
/// Has the account hold this much for a task's Acc. Throws TaskError where it is refused.
void hold(runtime::Account& account, std::uint64_t bytes);
/// The same on the driver, which merges them.
void check_fold(std::uint64_t bytes);

/// An action of which each task makes an Acc: add(acc, record) adds a record, merge(acc, part) the Acc of another task.
template <class Acc, class D, class Add, class Merge>
Acc fold(const D& in, std::string name, std::string_view type, Add add, Merge merge) {
  StageDraft draft = result_stage(in.lineage(), std::move(name), type);
  draft.body = make_body([chain = in.chain(), add](TaskContext& context) {
    Acc acc{};
    if constexpr (LargeFold<Acc>) {
      runtime::Account account(context.operators, "aggregate (count_distinct; approx_count_distinct takes 4 KiB)");
      chain.run(context, [&](typename D::Record&& record) {
        add(acc, std::move(record));
        hold(account, acc->held_bytes());
      });
    } else {
      chain.run(context, [&](typename D::Record&& record) { add(acc, std::move(record)); });
    }
    return encoded(acc);
  });
  const auto merge_all = [&merge](std::vector<Buffer>& results) {
    Acc acc{};
    for (const Buffer& result : results) {
      merge(acc, decoded<Acc>(result));
      if constexpr (LargeFold<Acc>) check_fold(acc ? acc->held_bytes() : 0);
    }
    return encoded(acc);
  };
  return decoded<Acc>(in.graph()->act(std::move(draft), Combine(merge_all)));
}

template <class D>
std::uint64_t count(const D& in, std::string name) {
  return fold<std::uint64_t>(
      in, std::move(name), type_name<typename D::Record>(), [](std::uint64_t& records, const auto&) { ++records; },
      [](std::uint64_t& records, std::uint64_t others) { records += others; });
}

template <class D, class F>
std::optional<Owned<typename D::Record>> reduce(const D& in, F function, std::string name) {
  using T = Owned<typename D::Record>;
  WEFT_REQUIRE_CODEC(T);
  const auto take = [function](std::optional<T>& acc, T&& record) {
    if (acc) {
      acc = static_cast<T>(std::invoke(function, std::move(*acc), std::as_const(record)));
    } else {
      acc = std::move(record);
    }
  };
  return fold<std::optional<T>>(
      in, std::move(name), type_name<std::pair<T, F>>(),
      [take](std::optional<T>& acc, typename D::Record&& record) { take(acc, to_owned(std::move(record))); },
      [take](std::optional<T>& acc, std::optional<T>&& part) {
        if (part) take(acc, std::move(*part));
      });
}

/// One file per task, written through a buffer. print(buffer, record) appends the record. If print.header exists, each file that
/// has records begins with it, and so does that of the first task, so that an empty output has it.
template <class D, class Print>
void write_files(const D& in, const std::string& path, std::string name, std::string_view type, Print print,
                 storage::Compression compression = storage::Compression::none) {
  const std::string work = in.graph()->open_output(path);
  StageDraft draft = result_stage(in.lineage(), std::move(name), type);
  draft.body = make_body([chain = in.chain(), work, print, compression](TaskContext& context) {
    BufferedTaskFile file(context, work, compression);
    [[maybe_unused]] bool begun = false;  // the header is there
    chain.run(context, [&](typename D::Record&& record) {
      if constexpr (requires { print.header; }) {
        if (!std::exchange(begun, true)) file.buffer().append(print.header);
      }
      print(file.buffer(), record);
      file.end_record();
    });
    if constexpr (requires { print.header; }) {
      if (!begun && context.attempt.task.index == 0) file.buffer().append(print.header);
    }
    return file.close();
  });
  in.graph()->add_sink(std::move(draft), path);
}

/// Records as bare bytes, one after another: text as it is, everything else as its fixed-size encoding without padding.
template <class T>
concept RawRecord = std::convertible_to<const T&, std::string_view> || is_flat<T>();

template <RawRecord T>
void append_raw(std::string& buffer, const T& record) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    buffer.append(std::string_view(record));
  } else {
    buffer.append(reinterpret_cast<const char*>(&record), sizeof(T));
  }
}

template <class T>
struct LinePrinter {
  void operator()(std::string& buffer, const T& record) const {
    LineFormat<T>::append(buffer, record);
    buffer.push_back('\n');
  }
};

template <class D>
void write_lines(const D& in, const std::string& path, std::string name, storage::Compression compression) {
  using T = typename D::Record;
  write_files(in, path, std::move(name), type_name<LineFormat<T>>(), LinePrinter<T>(), compression);
}

/// The name of a record's directory: function(record), a text or a number.
template <class F, class T>
void append_directory(std::string& directory, const F& function, const T& record) {
  const auto& named = call(function, record);
  LineFormat<std::remove_cvref_t<decltype(named)>>::append(directory, named);
}

/// Lines in a directory per name of the records. print(buffer, record) appends the line of a record. Each file begins with
/// print.header, if that exists.
template <class D, class F, class Print>
void write_files_by(const D& in, const std::string& path, F function, std::string name, std::string_view type, Print print,
                    storage::Compression compression) {
  using T = typename D::Record;
  const std::string work = in.graph()->open_output(path);
  StageDraft draft = result_stage(in.lineage(), std::move(name), type);
  draft.body = make_body([chain = in.chain(), work, function, print, compression](TaskContext& context) {
    NamedFiles files{{}, compression};
    if constexpr (requires { print.header; }) files.header = print.header;
    NamedOutputs outputs(context, work, std::move(files));
    std::string directory, line;
    chain.run(context, [&](T&& record) {
      directory.clear();
      line.clear();
      append_directory(directory, function, std::as_const(record));
      print(line, record);
      outputs.add(directory, line);
    });
    return Buffer::copy_of(as_bytes(outputs.finish()));
  });
  in.graph()->add_sink(std::move(draft), path);
}

template <class D>
void write_raw(const D& in, const std::string& path, std::string name) {
  using T = typename D::Record;
  write_files(in, path, std::move(name), type_name<T>(), [](std::string& buffer, const T& record) { append_raw(buffer, record); });
}

}  // namespace weft::detail
