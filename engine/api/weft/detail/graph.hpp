// What operators build: stages and where their data comes from. One Graph per run of a job's definition; the driver's runs the
// stages, a replay (in an executor) only keeps their code. Not a template: everything typed is behind runtime::StageBody.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/lean/chrono.hpp"
#include "engine/master/plan/output_kind.hpp"
#include "runtime/executor/task.hpp"
#include "schedulers/view/resources.hpp"

namespace weft {

template <class T, class Chain>
class Dataset;

/// What a task takes of its node: cpu (cores, or slots), memory (bytes), disk_read, disk_write, network_in, network_out (bytes per
/// second). Resources that nodes do not declare always fit (docs/schedulers.md).
using TaskDemand = schedulers::Resources;

namespace detail {

/// What the tasks of a dataset make when they run again, compared with what they made before. Tasks that read a shuffle run again
/// in another order: that in which blocks arrive.
enum class Determinism : std::uint8_t {
  determinate,    // the same records in the same order
  unordered,      // the same records
  same_keys,      // pairs with the same keys; each has a value that is as good
  indeterminate,  // what is as good as a whole, but not record by record: a sample, numbers in the order of arrival
};

/// What says to which partition of a shuffle a record goes.
enum class Routing : std::uint8_t {
  key,       // its key, or only the task; and one task reads a partition
  record,    // all of it
  position,  // its place among the task's records
  nothing,   // any will do: whoever reads them takes them for an estimate
};

/// Keeps a shuffle alive: while a dataset or a stage that has not run yet holds one, the shuffle may be read. The last one gone
/// reports the shuffle as released.
class ShuffleHandle {
 public:
  using Released = std::shared_ptr<std::vector<ShuffleId>>;
  ShuffleHandle(ShuffleId id, Determinism read, Released released) : id_(id), read_(read), released_(std::move(released)) {}
  ~ShuffleHandle() { released_->push_back(id_); }
  ShuffleHandle(const ShuffleHandle&) = delete;
  ShuffleHandle& operator=(const ShuffleHandle&) = delete;
  ShuffleId id() const { return id_; }
  /// Of datasets that begin with it.
  Determinism read() const { return read_; }

 private:
  ShuffleId id_;
  Determinism read_;
  Released released_;
};
using ShuffleRef = std::shared_ptr<const ShuffleHandle>;

struct Lineage;
struct PathFields;

/// Another way to make the records of a join of two shuffles: those of one side are joined where they are made, and every task
/// reads the other side whole.
struct StreamedJoin {
  std::shared_ptr<const Lineage> streamed;
  ShuffleRef whole;
  std::string_view whole_side;  // "left" or "right"
};

/// Where the records of a branch come from. Exactly one of files, records and shuffles is meant.
struct Origin {
  enum class Kind : std::uint8_t { files, range, shuffles };
  Kind kind = Kind::range;
  std::vector<std::string> files;  // expanded; the driver only
  std::uint64_t record_bytes = 0;  // 0: text
  bool raw = false;                // text: lines of whatever the files hold, nothing is decompressed or refused
  bool whole_files = false;        // each file is read by one task
  std::uint64_t count = 0;         // Kind::range: [0, count) cut into `tasks` pieces (0: chosen by the driver)
  std::uint32_t tasks = 0;
  std::vector<ShuffleRef> partitioned;
  std::vector<ShuffleRef> broadcast;
  std::vector<std::uint32_t> splittable;  // see plan::Branch
  /// Shuffles that a join reads: what may be done instead. The first operator of the lineage is the join then. Which it is, is
  /// decided when the stage is planned.
  std::vector<StreamedJoin> instead;
};

/// A program's hints about each task of a stage (Dataset::demand, Dataset::estimate, Dataset::on). They never change results.
struct StageHints {
  schedulers::Resources demand{};    // zero: the job's
  schedulers::Time duration{0};      // zero: not given, here and below
  double output_ratio = 0;           // bytes that it writes for each byte that it reads
  std::set<std::string> variants{};  // attributes of nodes for which it has a second function

  /// For operators that work in one stage: the larger of each, and the variants of both.
  void take_larger(const StageHints& other);
};
/// Amounts, durations and ratios that are negative or not finite throw std::invalid_argument.
StageHints demand_hint(const TaskDemand& amounts);
StageHints estimate_hint(std::chrono::nanoseconds duration, double output_ratio);
/// An attribute without a name throws std::invalid_argument.
StageHints variant_hint(const std::string& attribute);

/// How a dataset is made from the last shuffle on: the branches (several after a union), the fused operators, and a hash of all
/// that. (Its special members are in the library: every program would compile them.)
struct Lineage {
  Lineage();
  ~Lineage();
  Lineage(const Lineage&);
  Lineage(Lineage&&) noexcept;
  Lineage& operator=(const Lineage&);
  Lineage& operator=(Lineage&&) noexcept;

  std::vector<Origin> branches;
  std::vector<std::string> operators;
  std::uint64_t fingerprint = 0;
  /// Set while the records are pairs that lie in the partition of their key's hash, one partition per task: the number of
  /// partitions as HashPartitions::count has it. Operators that need equal keys together then work where the records are.
  std::optional<std::uint32_t> hashed;
  StageHints hints{};
  bool may_grow = false;  // an operator may make many records of one: the sizes of the inputs say nothing about them
  Determinism determinism = Determinism::determinate;

  /// One more operator; `type` names what its code depends on. It may change the keys.
  Lineage then(std::string name, std::string_view type) const;
  /// One more operator that leaves every record its key.
  Lineage then_same_keys(std::string name, std::string_view type) const;
  /// The same, with a shuffle that every task reads whole.
  Lineage with_broadcast(const ShuffleRef& shuffle) const;
  /// The same, for an operator that must see all records of a partition in one task.
  Lineage unsplit() const;
  /// The same, behind an operator that may make many records of one.
  Lineage grown() const;
  /// The same, behind an operator whose values depend on the order of a key's records: gathered in it, or added as `double`.
  Lineage ordered_values() const;
  /// The same, behind an operator that treats records by their places: numbers them, or drops some.
  Lineage by_position() const;
  /// Of a join of two shuffles: it may also be made where the records of `streamed` are. `whole_side`: "left" or "right".
  void allow(const Lineage& streamed, const ShuffleRef& whole, std::string_view whole_side);
  /// Throws JobFailure for more tasks than kMostPartitions.
  static Lineage of(Origin origin, std::string name, std::string_view type);
  /// Task i reads partition i.
  static Lineage reading(const ShuffleRef& shuffle);
  /// The same, as the first operator of a chain.
  static Lineage after(const ShuffleRef& shuffle, std::string name, std::string_view type);
  /// The records of both, task after task.
  static Lineage joined(const Lineage& first, const Lineage& second, std::string name);
  /// Task i works on the records of both in partition i. Each has one branch.
  static Lineage together(const Lineage& first, const Lineage& second, std::string name, std::string_view type);
};

inline constexpr std::uint32_t kDefaultPartitions = 0;
inline constexpr std::uint32_t kOnePerTask = UINT32_MAX;  // as many partitions as the stage has tasks (cache)
/// The most partitions that a program or --partitions may ask for: each is a task, and often a file.
inline constexpr std::uint32_t kMostPartitions = 100'000;
/// Throws JobFailure when the operator of this name asks for more.
void check_partitions(const std::string& name, std::uint32_t partitions);

struct StageDraft {
  StageDraft();
  ~StageDraft();
  StageDraft(StageDraft&&) noexcept;
  StageDraft& operator=(StageDraft&&) noexcept;

  std::string name;
  Lineage lineage;
  plan::OutputKind output = plan::OutputKind::shuffle;
  std::uint32_t partitions = kDefaultPartitions;
  Routing routing = Routing::record;
  std::unique_ptr<const runtime::StageBody> body;
};

/// Whether a task of the stage may write other records to a partition when it runs again (plan::Stage::indeterminate).
bool indeterminate(const StageDraft& draft);
/// Of datasets that read the shuffle that the stage writes.
Determinism determinism_behind(const StageDraft& draft);

/// Equal in all processes that run the same definition in the same way.
std::uint64_t stage_fingerprint(const StageDraft& draft);

/// Fails the task, and with it the job, when a user function calls an operator or an action: these belong to the definition.
void refuse_in_tasks(const std::string& what);

/// Makes an action's value of its tasks' results (task order). It refers to a function that is there until the action has ended.
class Combine {
 public:
  template <class F>
  explicit Combine(const F& function)
      : function_(&function),
        call_([](const void* of, std::vector<Buffer>& results) { return (*static_cast<const F*>(of))(results); }) {}
  Buffer operator()(std::vector<Buffer>& results) const { return call_(function_, results); }

 private:
  const void* function_;
  Buffer (*call_)(const void* of, std::vector<Buffer>& results);
};

class Graph {
 public:
  virtual ~Graph() = default;

  /// The definition runs on this thread, in frames below `frame`.
  void definition_begins(const void* frame) { frame_ = frame; }
  /// Looks for words of a user function that are addresses in the definition's frames: the function then seems to refer to a local
  /// variable. Logs a warning; throws JobFailure if tasks run in other processes, which do not have the variable. Only for
  /// functions whose bytes may be read. `copy` is a copy of the function; words that differ in it are ignored.
  void look_for_locals(const void* function, const void* copy, std::size_t bytes, std::string_view what,
                       const std::source_location& where) const;

  /// A stage that writes a shuffle. Nothing runs yet.
  virtual ShuffleRef add_shuffle(StageDraft draft) = 0;
  /// Runs the stage and what it needs; the value is recorded for replays.
  virtual Buffer act(StageDraft draft, const Combine& combine) = 0;
  /// A value made by the driver and recorded for replays.
  virtual Buffer value(const std::function<Buffer()>& make) = 0;
  /// The work directory of the output `path`.
  virtual std::string open_output(const std::string& path) = 0;
  /// A stage whose tasks return names of files in the work directory of `path`; run when the definition has ended.
  virtual void add_sink(StageDraft draft, const std::string& path) = 0;
  /// The files that `inputs` stand for, without those that `chosen` drops, unless that is null; none in a replay.
  virtual std::vector<std::string> expand(std::span<const std::string> inputs, const PathFields* chosen) = 0;
  /// True if effects of the definition belong here (not in replays, not when only explaining).
  virtual bool on_driver() const = 0;
  /// True if tasks run in other processes.
  virtual bool has_executors() const { return false; }
  /// True if tasks compare the functions of an operator (Dataset::on).
  virtual bool check_variants() const = 0;

 private:
  const void* frame_ = nullptr;
};

/// Adds a stage that writes a shuffle. Nothing runs yet.
ShuffleRef add_shuffle(Graph& graph, std::string name, Lineage lineage, std::uint32_t partitions,
                       std::unique_ptr<const runtime::StageBody> body, Routing routing);
/// A stage behind `before` whose tasks have results, for act() or add_sink(); without its body.
StageDraft result_stage(const Lineage& before, std::string name, std::string_view type);

/// Only types without pointers, references and unions can be made of bytes while compiling.
template <class F>
constexpr bool made_of_bytes() {
  static_cast<void>(std::bit_cast<F>(std::array<unsigned char, sizeof(F)>{}));
  return true;
}

/// Checks functions that may hold pointers or references, as far as the compiler cannot rule that out.
template <class F>
void check_captures(const Graph& graph, const F& function, std::string_view what, const std::source_location& where) {
  if constexpr (std::is_class_v<F> && std::is_trivially_copyable_v<F> && !std::is_empty_v<F>) {
    constexpr bool kPlain = requires { typename std::bool_constant<made_of_bytes<F>()>; };
    if constexpr (!kPlain) graph.look_for_locals(&function, &function, sizeof(F), what, where);
  } else if constexpr (std::is_class_v<F> && std::is_copy_constructible_v<F> && !std::is_empty_v<F>) {
    // Bytes that a copy does not write may hold any address. Two copies over different bytes show which they are.
    alignas(F) std::byte one[sizeof(F)], other[sizeof(F)];
    std::memset(one, 0x55, sizeof one), std::memset(other, 0xaa, sizeof other);
    const F* const first = new (one) F(function);
    const F* const second = new (other) F(function);
    graph.look_for_locals(one, other, sizeof(F), what, where);
    std::destroy_at(first), std::destroy_at(second);
  }
}

/// Those of a partitioning.
template <class P>
void check_partitioning_captures(const Graph& graph, const P& how, const std::source_location& where) {
  if constexpr (requires { how.function; }) check_captures(graph, how.function, "partition_by", where);
  if constexpr (requires { how.partitions.function; }) check_captures(graph, how.partitions.function, "partition_by", where);
}

/// Datasets of two flows cannot be combined: each flow is a job of its own, whose shuffles the other does not have. Throws
/// JobFailure.
void check_same_flow(const std::shared_ptr<Graph>& one, const std::shared_ptr<Graph>& other, const std::string& name);

/// "map (wordcount.cpp:14)".
std::string operator_name(std::string_view what, const std::source_location& where);

/// The compiler's name of T: the same in every process of one binary.
template <class T>
constexpr std::string_view type_name() {
  return __PRETTY_FUNCTION__;
}

}  // namespace detail
}  // namespace weft
