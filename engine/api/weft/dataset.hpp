// Dataset<T>: a distributed collection of records, described but not yet computed.
//
// Operators return new datasets; nothing runs before an action (collect, count, first, reduce) or the end of the definition
// (write_text, write_records). Narrow operators fuse into one loop: their result is a Dataset<U, …> whose second parameter is an
// implementation detail, best taken with `auto`; it converts to Dataset<U> (one indirect call per record) where that is needed.
//
// A record may refer to memory that lives only while the record is processed: read_text gives std::string_view lines, group_by_key
// single-pass values. What leaves the task owns its content: collect() on a dataset of string_view returns std::string.
//
// A dataset that is used twice is computed twice, except for the work before its last shuffle; cache() keeps it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/lean/chrono.hpp"
#include "weft/aggregators.hpp"
#include "weft/by_key.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/aggregate.hpp"
#include "weft/detail/arrange.hpp"
#include "weft/detail/chain.hpp"
#include "weft/detail/checks.hpp"
#include "weft/detail/compose.hpp"
#include "weft/detail/graph.hpp"
#include "weft/detail/index.hpp"
#include "weft/detail/row_checks.hpp"
#include "weft/detail/sort.hpp"
#include "weft/detail/tables.hpp"
#include "weft/detail/variant.hpp"
#include "weft/joins.hpp"
#include "weft/partitioning.hpp"

namespace weft {

class Kernel;

template <class T, class Chain = detail::Erased<T>>
class Dataset : public KeyedOperators<T, Chain>, public JoinOperators<T, Chain> {
  using Where = std::source_location;
  using Refused = detail::Refused;

 public:
  using Record = T;
  using ChainType = Chain;

  Dataset(std::shared_ptr<detail::Graph> graph, detail::Lineage lineage, Chain chain)
      : graph_(std::move(graph)), lineage_(std::move(lineage)), chain_(std::move(chain)) {}

  /// Dataset<T> from any dataset of T.
  template <class Other>
  requires(std::same_as<Chain, detail::Erased<T>> && !std::same_as<Other, Chain>)
      Dataset(const Dataset<T, Other>& other)  // NOLINT(google-explicit-constructor): meant to convert
      : graph_(other.graph()), lineage_(other.lineage()), chain_(other.chain()) {}

  // ---- record by record -------------------------------------------------------------------------------------------

  /// f(record) makes the new record. It may take the record's parts instead: f(key, value) of a pair, f(key, left, right) of a
  /// joined record, f(parts…) of a tuple. The functions of filter and flat_map may do so, too.
  template <class F>
  auto map(F f, Where where = Where::current()) const {
    if constexpr (detail::check_map<T, F>()) {
      using Node = detail::Map<Chain, F>;
      detail::check_captures(*graph_, f, "map", where);
      return narrow(lineage_, "map", where, Node{chain_, std::move(f)});
    } else {
      return Refused();
    }
  }

  /// The records for which f(record) is true.
  template <class F>
  auto filter(F f, Where where = Where::current()) const {
    if constexpr (detail::check_filter<T, F>()) {
      using Node = detail::Filter<Chain, F>;
      detail::check_captures(*graph_, f, "filter", where);
      return keeping_keys("filter", where, Node{chain_, std::move(f)});
    } else {
      return Refused();
    }
  }

  /// f(record) returns a range of new records: a container, a view, words(line).
  template <class F>
  auto flat_map(F f, Where where = Where::current()) const {
    if constexpr (detail::check_flat_map<T, F>()) {
      using Node = detail::FlatMap<Chain, F>;
      detail::check_captures(*graph_, f, "flat_map", where);
      return narrow(lineage_.grown(), "flat_map", where, Node{chain_, std::move(f)});
    } else {
      return Refused();
    }
  }

  /// flat_map<Out>(f): f(record, emit) calls emit(out) for every new record.
  template <class Out, class F>
  auto flat_map(F f, Where where = Where::current()) const {
    if constexpr (detail::check_flat_map_emit<T, Out, F>()) {
      using Node = detail::FlatMapEmit<Out, Chain, F>;
      detail::check_captures(*graph_, f, "flat_map", where);
      return narrow(lineage_.grown(), "flat_map", where, Node{chain_, std::move(f)});
    } else {
      return Refused();
    }
  }

  /// map_partitions<Out>(f): f(records, emit) runs once per task; records([&](T record) { … }) visits all records of the task.
  template <class Out, class F>
  auto map_partitions(F f, Where where = Where::current()) const {
    if constexpr (detail::check_map_partitions<T, Out, F>()) {
      using Node = detail::MapPartitions<Out, Chain, F>;
      detail::check_captures(*graph_, f, "map_partitions", where);
      return Dataset<Out, Node>(
          graph_,
          lineage_.unsplit().grown().by_position().then(detail::operator_name("map_partitions", where), detail::type_name<Node>()),
          Node{chain_, std::move(f)});
    } else {
      return Refused();
    }
  }

  /// Each record with probability `fraction`. The choice goes by the seed, the number of the task and the record's place in the
  /// task: it is the same in every attempt, and in another run if the input is cut into the same tasks. That depends on its files
  /// and on the number of slots (--threads, --workers); of generate() and from_vector(), only on the number of partitions, if one
  /// is given. Behind a shuffle records have no place of their own, and each run keeps others.
  auto sample(double fraction, std::uint64_t seed = 1, Where where = Where::current()) const {
    if (!(fraction >= 0 && fraction <= 1)) throw std::invalid_argument("sample: the fraction must be between 0 and 1");
    return Dataset(graph_, lineage_.by_position(), chain_)
        .keeping_keys("sample", where, detail::Sample<Chain>{chain_, fraction, seed});
  }

  /// The records of both, duplicates kept.
  template <class U, class Other>
  auto union_with(const Dataset<U, Other>& other, Where where = Where::current()) const {
    if constexpr (detail::check_union<T, U>()) {
      detail::check_same_flow(graph_, other.graph(), detail::operator_name("union_with", where));
      using Node = detail::Union<Chain, Other>;
      return Dataset<T, Node>(graph_,
                              detail::Lineage::joined(lineage_, other.lineage(), detail::operator_name("union_with", where)),
                              Node{chain_, other.chain(), static_cast<std::uint32_t>(lineage_.branches.size())});
    } else {
      return Refused();
    }
  }

  /// The same records. On nodes with the attribute ("accelerator", or one value of it, "accelerator=gpu"), `other` makes them
  /// instead of this operator's function. Both functions must give the same records in the same order for every input, because any
  /// attempt may run anywhere (--check-variants compares them). Directly behind generate, map, filter, flat_map, map_partitions, ….
  template <class G>
  auto on(const std::string& attribute, G other, Where where = Where::current()) const {
    if constexpr (detail::check_on<Chain, G>()) {
      detail::check_captures(*graph_, other, "on", where);
      return detail::with_variant(*this, attribute, std::move(other), detail::operator_name("on " + attribute, where));
    } else {
      return *this;
    }
  }

  /// The same records. Tasks that hold a device (weft worker --devices) compute them by the kernel instead of this operator's
  /// function; all others, and those whose device has too little memory, by the function. Both must give the same records. Directly
  /// behind generate or map. Needs <weft/kernel.hpp>.
  auto on(const Kernel& kernel, Where where = Where::current()) const { return on_kernel(*this, kernel, where); }

  /// The same records. Each task of the stage that computes them (from one shuffle to the next) demands these amounts of its node:
  /// `lines.demand({.cpu = 2, .memory = 1e9})`. Other resources are as --demand says. If a stage has several demands, the largest
  /// amounts count.
  Dataset demand(const TaskDemand& amounts) const { return hinted(detail::demand_hint(amounts)); }

  /// The same records. A task of that stage takes about `duration`, and writes about `output_ratio` bytes for each byte that it
  /// reads (0: not known). Schedulers use it until tasks have finished; results never depend on it.
  Dataset estimate(std::chrono::nanoseconds duration, double output_ratio = 0) const {
    return hinted(detail::estimate_hint(duration, output_ratio));
  }

  // ---- order and arrangement --------------------------------------------------------------------------------------

  /// All records in the order of key(record): the partitions (and so the part files) are in global order. Equal keys keep their
  /// order. A NaN is larger than every number, wherever no other order is given (runtime/operators/natural_order.hpp).
  template <class F>
  auto sort_by(F key, Where where = Where::current()) const {
    if constexpr (detail::check_sort_by<T, F>()) {
      detail::check_captures(*graph_, key, "sort_by", where);
      return detail::sort<runtime::NaturalLess>(*this, std::move(key), detail::kDefaultPartitions,
                                                detail::operator_name("sort_by", where));
    } else {
      return Refused();
    }
  }
  /// Descending, or with a number of partitions. The order is known at run time only, so the result is a Dataset<T>.
  template <class F>
  auto sort_by(F key, Order order, std::uint32_t partitions = detail::kDefaultPartitions, Where where = Where::current()) const {
    if constexpr (detail::check_sort_by<T, F>()) {
      detail::check_captures(*graph_, key, "sort_by", where);
      const std::string name = detail::operator_name("sort_by", where);
      return order == Order::descending ? Dataset<T>(detail::sort<runtime::NaturalGreater>(*this, std::move(key), partitions, name))
                                        : Dataset<T>(detail::sort<runtime::NaturalLess>(*this, std::move(key), partitions, name));
    } else {
      return Refused();
    }
  }

  /// One of all records with equal bytes; -0.0 counts as 0.0, and all NaNs as one.
  template <Partitioning<T> P = HashPartitions>
  auto distinct(P how = {}, Where where = Where::current()) const {
    if constexpr (detail::check_stored<T>()) {
      detail::check_partitioning_captures(*graph_, how, where);
      return detail::distinct(*this, detail::partitioning(how), detail::operator_name("distinct", where));
    } else {
      return Refused();
    }
  }

  /// The n largest records under `less`, largest first, in one partition.
  template <class Less = runtime::NaturalLess>
  auto top(std::size_t n, Less less = {}, Where where = Where::current()) const {
    if constexpr (detail::check_top<T, Less>() && detail::check_owned<T>()) {
      detail::check_captures(*graph_, less, "top", where);
      return detail::top(*this, n, std::move(less), detail::operator_name("top", where));
    } else {
      return Refused();
    }
  }

  /// The same records spread evenly over `partitions`.
  auto repartition(std::uint32_t partitions = detail::kDefaultPartitions, Where where = Where::current()) const {
    if constexpr (detail::check_stored<T>()) {
      return detail::repartition(*this, partitions, detail::operator_name("repartition", where));
    } else {
      return Refused();
    }
  }

  /// pair<T, std::uint64_t>: each record with its number, from 0 on in the order of the partitions. Keeps the records as cache()
  /// does.
  auto zip_with_index(Where where = Where::current()) const {
    if constexpr (detail::check_stored<T>()) {
      return detail::zip_with_index(*this, detail::operator_name("zip_with_index", where));
    } else {
      return Refused();
    }
  }

  /// Computed once and kept (in memory first) until no dataset refers to it any more.
  auto cache(Where where = Where::current()) const {
    if constexpr (detail::check_stored<T>()) {
      return detail::cache(*this, detail::operator_name("cache", where));
    } else {
      return Refused();
    }
  }

  // ---- actions ----------------------------------------------------------------------------------------------------

  /// All records, partition after partition; at most 256 MiB.
  std::vector<Owned<T>> collect(Where where = Where::current()) const {
    if constexpr (detail::check_stored<T>() && detail::check_owned<T>())
      return detail::collect(*this, detail::operator_name("collect", where), UINT64_MAX);
  }
  /// The first n records in partition order.
  std::vector<Owned<T>> first(std::uint64_t n, Where where = Where::current()) const {
    if constexpr (detail::check_stored<T>() && detail::check_owned<T>())
      return detail::collect(*this, detail::operator_name("first", where), n);
  }
  std::uint64_t count(Where where = Where::current()) const { return detail::count(*this, detail::operator_name("count", where)); }

  /// All records reduced by f(a, b), which must be associative; an empty optional if there are none.
  template <class F>
  std::optional<Owned<T>> reduce(F f, Where where = Where::current()) const {
    if constexpr (detail::check_reduce<T, F>() && detail::check_owned<T>()) {
      detail::check_captures(*graph_, f, "reduce", where);
      return detail::reduce(*this, std::move(f), detail::operator_name("reduce", where));
    } else {
      return std::nullopt;
    }
  }
  /// f(zero, all records reduced by f), or zero.
  template <class F>
  Owned<T> reduce(Owned<T> zero, F f, Where where = Where::current()) const {
    std::optional<Owned<T>> value = reduce(f, where);
    if constexpr (ReduceFunction<F, T>) {
      if (value) return static_cast<Owned<T>>(std::invoke(f, std::move(zero), std::as_const(*value)));
    }
    return zero;
  }
  /// The result of one aggregator over all records, or a tuple of those of several: `orders.aggregate(weft::count(),
  /// weft::mean(&Order::price))`. For no records, count and sum are zero, and the others are empty optionals.
  template <Aggregator... A>
  auto aggregate(A... aggregators) const {
    if constexpr (detail::check_aggregators<T, A...>()) {
      (detail::check_aggregator_captures(*graph_, aggregators, "aggregate"), ...);
      std::string name = detail::operator_name("aggregate", std::get<0>(std::tie(aggregators...)).where);
      return detail::aggregate_now(*this, std::move(name), std::move(aggregators)...);
    } else {
      return detail::RefusedValue();
    }
  }

  /// A directory with one file of lines per partition, visible when the job has succeeded. Runs at the end of the definition.
  /// Compressed files are split when they are read again, whatever their compression.
  void write_text(const std::string& path, Compression compression = Compression::none, Where where = Where::current()) const {
    if constexpr (detail::check_write_text<T>())
      detail::write_lines(*this, path, detail::operator_name("write_text", where), compression);
  }
  /// The same in a directory for each name: the lines of records with the name function(record), a text or a number, are in
  /// PATH/NAME/part-NNNNN. A name may have several parts, "2026/11".
  template <class F>
  void write_text_by(const std::string& path, F function, Compression compression = Compression::none,
                     Where where = Where::current()) const {
    if constexpr (detail::check_write_text_by<T, F>()) {
      detail::check_captures(*graph_, function, "write_text_by", where);
      detail::write_files_by(*this, path, std::move(function), detail::operator_name("write_text_by", where),
                             detail::type_name<std::pair<LineFormat<T>, F>>(), detail::LinePrinter<T>(), compression);
    }
  }
  /// Plain structs, or pairs and tuples with CsvFormat::columns, as rows of CSV (RFC 4180), with a line of column names in each
  /// file unless the format has no header.
  void write_csv(const std::string& path, const CsvFormat& format = {}, Compression compression = Compression::none,
                 Where where = Where::current()) const {
    if constexpr (detail::check_write_csv<T>())
      detail::write_csv(*this, path, detail::operator_name("write_csv", where), format, compression);
  }
  /// The same in one file, PATH/part-00000, with one line of column names: one task writes all rows, in the order of the
  /// partitions.
  void write_csv_file(const std::string& path, const CsvFormat& format = {}, Compression compression = Compression::none,
                      Where where = Where::current()) const {
    if constexpr (detail::check_write_csv<T>())
      detail::write_csv_file(*this, path, detail::operator_name("write_csv_file", where), format, compression);
  }
  /// Plain structs as JSON, one object per line.
  void write_json(const std::string& path, const JsonFormat& format = {}, Compression compression = Compression::none,
                  Where where = Where::current()) const {
    if constexpr (detail::check_write_json<T>())
      detail::write_json(*this, path, detail::operator_name("write_json", where), format, compression);
  }
  /// Plain structs as rows of Parquet. A file of each task, with columns as the fields are: std::optional makes one that may be
  /// null.
  void write_parquet(const std::string& path, const ParquetFormat& format = {}, Where where = Where::current()) const {
    if constexpr (detail::check_write_parquet<T>())
      detail::write_parquet(*this, path, detail::operator_name("write_parquet", where), format);
  }
  /// The same three in a directory for each name, as write_text_by has it: `write_json_by("out", [](const Row& row) { return "day="
  /// + row.day; })`. As the name of a directory, "KEY=VALUE" is what other programs read as a column.
  template <class F>
  void write_csv_by(const std::string& path, F function, const CsvFormat& format = {}, Compression compression = Compression::none,
                    Where where = Where::current()) const {
    if constexpr (detail::check_write_csv<T>() && detail::check_names<T, F>()) {
      detail::check_captures(*graph_, function, "write_csv_by", where);
      detail::write_files_by(*this, path, std::move(function), detail::operator_name("write_csv_by", where),
                             detail::type_name<std::pair<detail::CsvSource<T>, F>>(), detail::csv_printer<T>(format), compression);
    }
  }
  template <class F>
  void write_json_by(const std::string& path, F function, const JsonFormat& format = {},
                     Compression compression = Compression::none, Where where = Where::current()) const {
    if constexpr (detail::check_write_json<T>() && detail::check_names<T, F>()) {
      detail::check_captures(*graph_, function, "write_json_by", where);
      detail::write_files_by(*this, path, std::move(function), detail::operator_name("write_json_by", where),
                             detail::type_name<std::pair<detail::JsonSource<T>, F>>(), detail::json_printer<T>(format),
                             compression);
    }
  }
  template <class F>
  void write_parquet_by(const std::string& path, F function, const ParquetFormat& format = {},
                        Where where = Where::current()) const {
    if constexpr (detail::check_write_parquet<T>() && detail::check_names<T, F>() && detail::check_stored<T>()) {
      detail::check_captures(*graph_, function, "write_parquet_by", where);
      detail::write_parquet_by(*this, path, std::move(function), detail::operator_name("write_parquet_by", where), format);
    }
  }
  /// Files of bare records: text without separators, other types as their fixed-size encoding (what read_records<T> reads).
  void write_records(const std::string& path, Where where = Where::current()) const {
    if constexpr (detail::check_write_records<T, detail::RawRecord<T>>())
      detail::write_raw(*this, path, detail::operator_name("write_records", where));
  }

  /// Pairs of texts as rows of a cluster's table, visible at one version when the job has succeeded. Of equal keys one row stays.
  void write_table(const std::string& table, Where where = Where::current()) const requires detail::TableRecord<T> {
    detail::write_table(*this, table, detail::operator_name("write_table", where));
  }

  // ---- for operators ----------------------------------------------------------------------------------------------

  const std::shared_ptr<detail::Graph>& graph() const { return graph_; }
  const detail::Lineage& lineage() const { return lineage_; }
  const Chain& chain() const { return chain_; }
  /// One more operator that leaves every record its key.
  template <class Node>
  auto keeping_keys(std::string_view what, const Where& where, Node node) const {
    return Dataset<typename Node::Record, Node>(
        graph_, lineage_.then_same_keys(detail::operator_name(what, where), detail::type_name<Node>()), std::move(node));
  }

 private:
  Dataset hinted(const detail::StageHints& hints) const {
    Dataset same = *this;
    same.lineage_.hints.take_larger(hints);
    return same;
  }

  template <class Node>
  auto narrow(const detail::Lineage& lineage, std::string_view what, const Where& where, Node node) const {
    return Dataset<typename Node::Record, Node>(graph_, lineage.then(detail::operator_name(what, where), detail::type_name<Node>()),
                                                std::move(node));
  }

  std::shared_ptr<detail::Graph> graph_;
  detail::Lineage lineage_;
  Chain chain_;
};

}  // namespace weft
