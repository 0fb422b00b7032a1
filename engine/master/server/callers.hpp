// For which user a request is made, and what he may do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/server/access.hpp"
#include "engine/master/storage/caller.hpp"
#include "schedulers/config/pool_rights.hpp"

namespace weft::master {

/// What is known of a job's owner.
struct JobOwner {
  std::string user, pool;
};

/// By what a master knows its peers.
enum class Trust : std::uint8_t {
  own_machine,   // plain text on loopback, where the kernel lets in only the master's user and root
  certificates,  // every peer has shown one
  claims,        // nothing: --insecure
};
inline Trust trust_of(const rpc::Security& security) {
  return security.encrypted() ? Trust::certificates : security.insecure ? Trust::claims : Trust::own_machine;
}

/// Reactor thread only.
class Callers {
 public:
  /// `administrators`: names of users who may do all.
  Callers(Trust trust, std::vector<std::string> administrators) : trust_(trust), administrators_(std::move(administrators)) {}

  /// What the connection says of itself (storage::ActFor). A user with a certificate is whom that names, whatever he says.
  /// invalid_argument: no name is that long.
  Result<void> act_for(const rpc::Connection& connection, const std::string& user);
  void forget(const rpc::Connection& connection) { acting_.erase(&connection); }

  /// The user for whom the connection asks:
  /// - by a user's certificate: that user;
  /// - by a worker's or master's: the user for whom it acts, or nobody (then it may do all, as a process of the cluster);
  /// - on an unencrypted loopback: the one that it names, with all rights, because the kernel says that it is the master's own user
  /// or
  ///   root;
  /// - insecure: the one that it names; a peer that names none may do all, since it could name any.
  Caller of(const rpc::Connection& connection) const;

  /// Of a job that is submitted there: the user with whose certificate, or else the one that the submission names.
  std::string owner(const rpc::Connection& connection, const std::string& named) const;
  /// The users with rights in pools, from now on.
  void use(schedulers::PoolRights pools) { pools_ = std::move(pools); }
  /// permission_denied: jobs of `owner` are not for that pool.
  Result<void> may_submit(const rpc::Connection& connection, const std::string& owner, const std::string& pool) const {
    return of(connection).administrator ? Result<void>() : pools_.may_submit(owner, pool);
  }
  /// permission_denied says who may instead. `owner`: of the job, where the rule needs one; nothing: there is no such job, which
  /// its handler says.
  Result<void> may(const Caller& caller, const Rule& rule, JobId job, const std::optional<JobOwner>& owner) const;
  /// Whether the details of a job are for the caller.
  bool may_see(const Caller& caller, std::string_view owner) const { return caller.administrator || caller.user == owner; }

 private:
  bool administers(std::string_view user) const;

  const Trust trust_;
  const std::vector<std::string> administrators_;
  std::map<const rpc::Connection*, std::string> acting_;
  schedulers::PoolRights pools_;
};

}  // namespace weft::master
