#include "runtime/worker/job_accounts.hpp"

#include <utility>

namespace weft::runtime {
namespace {

constexpr uid_t kLeastUser = 1000;  // those below are the system's own
constexpr const char* kRoot = "root";
constexpr const char* kNobody = "nobody";

JobAccounts::Found as_found(Result<Account> account) {
  return std::move(account).map([](Account found) { return std::optional(std::move(found)); });
}

/// Those of users whom this machine does not know, and of the system's own, run as nobody.
JobAccounts::Found account_of_submitter(const std::string& user) {
  auto found = find_account(user);
  if (found && found->user >= kLeastUser) return as_found(std::move(found));
  if (!found && found.error().code() != Code::not_found) return fail(std::move(found).error());
  return as_found(find_account(kNobody));
}

}  // namespace

JobAccounts::JobAccounts(rpc::Reactor& reactor, const WorkerOptions& options)
    : run_as_(options.run_as),
      vouched_(!options.security.credentials && !options.security.insecure),
      lookups_(reactor,
               {"lookups of users", "does the server answer that keeps the users of this machine?", std::chrono::seconds(30)}) {}

void JobAccounts::find(const std::string& user, std::function<void(Found)> then) {
  // Only root's processes reach a master of root that has no certificate and is not insecure.
  const bool of_root = run_as_ == kRunAsSubmitter && vouched_ && user == kRoot;
  if (run_as_ == kRunAsSelf || of_root) return then(std::nullopt);
  auto look = [run_as = run_as_, user] {
    return run_as == kRunAsSubmitter ? account_of_submitter(user) : as_found(find_account(run_as));
  };
  lookups_.find(std::move(look), [then = std::move(then)](Result<Found> found) {
    if (found) return then(*std::move(found));
    then(fail(std::move(found).error()));
  });
}

}  // namespace weft::runtime
