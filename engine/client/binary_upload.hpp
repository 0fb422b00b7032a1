// Sending a job program to a master that does not have it.
#pragma once

#include <functional>
#include <string>

#include "base/hash.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::client {

/// One request to the master and its answer.
using UploadCall = std::function<Result<rpc::Message>(rpc::MessageType, rpc::Payload)>;

/// Sends the file, whose content has that hash, piece by piece through `call`. `what` names the file in errors: "this program's own
/// file". The first error of a call ends it; trying again from the beginning is harmless.
Result<void> upload_binary(const std::string& path, const std::string& what, const Hash128& hash, const UploadCall& call);

}  // namespace weft::client
