// The NameNodes of HDFS, and the user or token of requests, from variables of the environment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "storage/environment.hpp"

namespace weft::storage::hdfs {

struct HdfsSettings {
  std::string user;          // user.name of requests without a token
  std::string token;         // a delegation token; empty: none
  std::string certificates;  // file of the authorities that https:// addresses need; empty: those of the system
  /// URLs of NameNodes, "http://host:port", by what stands between "hdfs://" and the path.
  std::map<std::string, std::vector<std::string>> name_nodes;
};

/// From HADOOP_USER_NAME (else the user of the process), WEFT_HDFS_DELEGATION_TOKEN, WEFT_HDFS_CA_BUNDLE and WEFT_HDFS_HTTP, which
/// is NAME=ADDRESS[,ADDRESS…] and more of these behind spaces; an address is HOST, HOST:PORT, http://HOST:PORT or
/// https://HOST:PORT, and without NAME= it is where "hdfs:///path" is. invalid_argument when one of them is not usable.
Result<HdfsSettings> hdfs_settings(const Variables& variable = environment);

/// The URLs of the NameNodes of "hdfs://AUTHORITY/": what the settings say, else that host; without a port 9870. invalid_argument
/// when it is no host, and when there is none and the settings name none.
Result<std::vector<std::string>> name_nodes_of(const HdfsSettings& settings, const std::string& authority);

}  // namespace weft::storage::hdfs
