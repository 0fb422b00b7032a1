#include "engine/simulator/workloads/hash_order.hpp"

#include <algorithm>
#include <utility>

namespace weft::simulator::workloads {

namespace {

/// Numbers of objects, as OpenJDK's first thread gives them.
class ObjectHashes {
 public:
  std::uint32_t next() {
    const std::uint32_t t = x_ ^ (x_ << 11);
    x_ = std::exchange(y_, std::exchange(z_, w_));
    w_ = w_ ^ (w_ >> 19) ^ t ^ (t >> 8);
    return w_ & 0x7fffffff;
  }

 private:
  std::uint32_t x_ = 1422014746, y_ = 842502087, z_ = 0x8767, w_ = 273326509;
};

struct Numbered {
  std::size_t job;  // in the file
  std::uint32_t hash;
};

/// The table has a power of two of places, at least 16, and is filled to at most three quarters.
void order_batch(std::vector<Numbered>::iterator begin, std::vector<Numbered>::iterator end) {
  const auto count = static_cast<std::size_t>(end - begin);
  std::uint32_t places = 16;
  while (count > places / 4 * 3) places *= 2;
  const auto place = [places](const Numbered& one) { return (one.hash ^ (one.hash >> 16)) & (places - 1); };
  std::stable_sort(begin, end, [&place](const Numbered& a, const Numbered& b) { return place(a) < place(b); });
}

}  // namespace

void order_by_hash(std::vector<JobSpec>& jobs, std::uint32_t position) {
  if (jobs.empty()) return;
  const Time first = std::ranges::min(jobs, {}, &JobSpec::arrival).arrival;
  std::vector<Numbered> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i].job = i;
  const auto arrival = [&jobs](const Numbered& one) { return jobs[one.job].arrival; };
  std::stable_partition(order.begin(), order.end(), [&](const Numbered& one) { return arrival(one) == first; });
  ObjectHashes hashes;
  for (std::uint32_t i = 0; i < position; ++i) hashes.next();
  for (Numbered& one : order) one.hash = hashes.next();
  std::stable_sort(order.begin(), order.end(), [&](const Numbered& a, const Numbered& b) { return arrival(a) < arrival(b); });
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(begin, order.end(), [&](const Numbered& one) { return arrival(one) != arrival(*begin); });
    order_batch(begin, end);
    begin = end;
  }
  std::vector<JobSpec> ordered;
  ordered.reserve(jobs.size());
  for (const Numbered& one : order) ordered.push_back(std::move(jobs[one.job]));
  jobs = std::move(ordered);
}

}  // namespace weft::simulator::workloads
