#include "storage/hdfs/errors.hpp"

#include <array>

#include "base/text.hpp"
#include "storage/hdfs/answers.hpp"

namespace weft::storage::hdfs {
namespace {

using http::HttpResponse;

struct ExceptionMeaning {
  std::string_view name;  // of Hadoop's exception
  Code code;
  std::string_view text;  // before what Hadoop says
};

constexpr auto kMeanings = std::to_array<ExceptionMeaning>({
    {"FileNotFoundException", Code::not_found, "it is not there"},
    {"FileAlreadyExistsException", Code::already_exists, "it is there already"},
    {"PathIsNotEmptyDirectoryException", Code::already_exists, "it is there already, and not empty"},
    {"ParentNotDirectoryException", Code::invalid_argument, "a part of its path is a file"},
    {"InvalidPathException", Code::invalid_argument, "HDFS does not allow this name"},
    {"PathComponentTooLongException", Code::invalid_argument, "a name is longer than HDFS allows"},
    {"NSQuotaExceededException", Code::resource_exhausted, "the quota of names of its directory is used up"},
    {"DSQuotaExceededException", Code::resource_exhausted, "the quota of space of its directory is used up"},
    {"QuotaByStorageTypeExceededException", Code::resource_exhausted, "the quota of space of its directory is used up"},
    {"MaxDirectoryItemsExceededException", Code::resource_exhausted, "its directory has as many files as HDFS allows"},
    {"BlockMissingException", Code::unavailable, "no datanode that is running has all of it (hdfs fsck tells more)"},
});

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (const std::string_view other : names)
    if (name == other) return true;
  return false;
}

bool about_safe_mode(const RemoteException& exception) {
  return exception.name == "SafeModeException" || exception.message.find("safe mode") != std::string::npos ||
         exception.message.find("SafeModeException") != std::string::npos;
}

/// Of an answer that WebHDFS does not give.
Error of_a_stranger(const HttpResponse& answer) {
  const std::string remedy =
      "; the port is that of the NameNode's web pages (dfs.namenode.http-address, 9870): write hdfs://HOST:9870/…, or say which "
      "belongs to it with WEFT_HDFS_HTTP=HOST:PORT=HOST:9870";
  if (answer.body.find("Hadoop IPC port") != std::string::npos)
    return {Code::invalid_argument, "the port is that of Hadoop's RPC, and weft needs that of WebHDFS" + remedy};
  return {Code::invalid_argument, "the server that answers (with " + std::to_string(answer.status) + ") is no WebHDFS" + remedy};
}

Error of_rights(const RemoteException* exception, const std::string& user) {
  const std::string said = exception == nullptr ? "" : " (" + escaped(exception->message) + ")";
  const bool token = exception != nullptr && (exception->name == "InvalidToken" || said.find("token") != std::string::npos);
  if (token)
    return {Code::invalid_argument, "the delegation token is not valid, or has expired" + said +
                                        "; get a new one (hdfs fetchdt) and set WEFT_HDFS_DELEGATION_TOKEN"};
  if (exception == nullptr || exception->name == "SecurityException" || exception->name == "AuthenticationException")
    return {Code::invalid_argument,
            "HDFS requires authentication" + said + "; get a delegation token (hdfs fetchdt) and set WEFT_HDFS_DELEGATION_TOKEN"};
  return {Code::invalid_argument, "the user " + escaped(user) + " has no right to it" + said +
                                      "; ask its owner, or name another user with HADOOP_USER_NAME"};
}

Error meaning_of(const HttpResponse& answer, const std::string& user) {
  const auto exception = parse_exception(answer.body);
  if (answer.status == 429 || (answer.status >= 500 && !exception))
    return {Code::unavailable, "the service answers " + std::to_string(answer.status) + "; is HDFS well? (hdfs dfsadmin -report)"};
  if (answer.status == 401) return of_rights(exception ? &*exception : nullptr, user);
  if (!exception) return of_a_stranger(answer);
  if (about_safe_mode(*exception))
    return {Code::unavailable, "HDFS is in safe mode; wait until it has left it (hdfs dfsadmin -safemode get), and try again"};
  if (exception->name == "StandbyException")
    return {Code::unavailable,
            "the NameNode is in standby; name all of them with WEFT_HDFS_HTTP=NAME=HOST:PORT,HOST:PORT, and write hdfs://NAME/…"};
  if (one_of(exception->name, {"AccessControlException", "AuthorizationException", "InvalidToken", "SecurityException",
                               "AuthenticationException", "SecretManager$InvalidToken"}))
    return of_rights(&*exception, user);
  for (const ExceptionMeaning& meaning : kMeanings)
    if (exception->name == meaning.name)
      return {meaning.code, std::string(meaning.text) + " (" + escaped(exception->message) + ")"};
  const bool passes = verdict_of(answer) != Verdict::refused;
  return {passes ? Code::unavailable : Code::io, escaped(exception->name + ": " + exception->message)};
}

}  // namespace

Verdict verdict_of(const HttpResponse& answer) {
  if (answer.status >= 200 && answer.status < 400) return Verdict::done;
  const auto exception = parse_exception(answer.body);
  if (exception && exception->name == "StandbyException") return Verdict::standby;
  if (exception && about_safe_mode(*exception)) return Verdict::safe_mode;
  if (one_of(std::to_string(answer.status), {"408", "429", "502", "503", "504"})) return Verdict::later;
  if (!exception) return answer.status >= 500 ? Verdict::seldom : Verdict::refused;
  if (one_of(exception->name,
             {"RetriableException", "ServerTooBusyException", "AlreadyBeingCreatedException", "RecoveryInProgressException",
              "NotReplicatedYetException", "ConnectException", "SocketTimeoutException"}))
    return Verdict::later;
  if (exception->message.find("Failed to find datanode") != std::string::npos ||
      exception->message.find("could only be written to") != std::string::npos)
    return Verdict::later;  // they have not registered yet
  return answer.status >= 500 || exception->name == "BlockMissingException" ? Verdict::seldom : Verdict::refused;
}

Error hdfs_error(const HttpResponse& answer, std::string_view doing, const std::string& url, const std::string& user) {
  return meaning_of(answer, user).wrap("cannot " + std::string(doing) + " " + escaped(url));
}

}  // namespace weft::storage::hdfs
