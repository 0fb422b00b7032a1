#include "engine/master/protocol/protocol.hpp"

#include "base/rpc/versioned.hpp"
#include "engine/master/protocol/protocol.capnp.h"

namespace weft::client {

#define WEFT_CLIENT_MESSAGE(M, Schema, what)                                                         \
  template <>                                                                                        \
  rpc::Payload encode(M message) {                                                                   \
    return rpc::versioned_payload<wire::Schema>(message);                                            \
  }                                                                                                  \
  template <>                                                                                        \
  Result<M> decode(const rpc::Message& message) {                                                    \
    return rpc::decode_versioned<wire::Schema, M>(message.header.view(), what, message.bulk.view()); \
  }

WEFT_CLIENT_MESSAGE(Submit, Submit, "job submission")
WEFT_CLIENT_MESSAGE(Submitted, Submitted, "answer to a submission")
WEFT_CLIENT_MESSAGE(Attach, Attach, "request to attach to a job")
WEFT_CLIENT_MESSAGE(Recorded, Recorded, "what is recorded of an action")
WEFT_CLIENT_MESSAGE(Detach, Detach, "submission of a detached job")
WEFT_CLIENT_MESSAGE(Upload, Upload, "upload of a binary")
WEFT_CLIENT_MESSAGE(JobRequest, Job, "request about a job")
WEFT_CLIENT_MESSAGE(ValueRecord, Value, "value of an action")
WEFT_CLIENT_MESSAGE(Poll, Poll, "question after progress")
WEFT_CLIENT_MESSAGE(PollReply, PollReply, "progress of a job")
WEFT_CLIENT_MESSAGE(JobList, JobList, "list of jobs")
WEFT_CLIENT_MESSAGE(KillRequest, Kill, "request to kill a job")
WEFT_CLIENT_MESSAGE(LogsWanted, LogWanted, "request for logs")
WEFT_CLIENT_MESSAGE(JobLogs, Logs, "logs of a job")
WEFT_CLIENT_MESSAGE(NodeList, NodeList, "list of nodes")
WEFT_CLIENT_MESSAGE(NodeCapacity, NodeCapacity, "capacity of a node")
WEFT_CLIENT_MESSAGE(master::JobExplanation, Explanation, "explanation of a job")
WEFT_CLIENT_MESSAGE(GroupList, Groups, "list of pools")
WEFT_CLIENT_MESSAGE(MasterList, MasterList, "list of masters")
WEFT_CLIENT_MESSAGE(EventsWanted, EventsWanted, "request for events")
WEFT_CLIENT_MESSAGE(Events, Events, "events")
WEFT_CLIENT_MESSAGE(PastWanted, PastWanted, "request for the past")
WEFT_CLIENT_MESSAGE(Past, Past, "what the cluster did")
WEFT_CLIENT_MESSAGE(SchedulerInfo, Scheduler, "scheduler")
WEFT_CLIENT_MESSAGE(ProfileRequest, ProfileRequest, "request about profiles")
WEFT_CLIENT_MESSAGE(ProfileReply, ProfileReply, "profiles")

}  // namespace weft::client
