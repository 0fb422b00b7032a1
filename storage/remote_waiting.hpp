// Files and tables of the cluster wait for a master that is away. A job that has failed must not: its error would be kept back.
#pragma once

namespace weft::storage {

/// What RemoteFiles and RemoteTables also are when they wait for their master.
class WaitsForMaster {
 public:
  virtual ~WaitsForMaster() = default;
  /// From now on calls fail when the master does not answer, those of the tables beside files too. Files that are open go on as
  /// they were. Any thread.
  virtual void stop_waiting() = 0;
};

/// Does nothing when `remote` is null or never waits.
template <class Remote>
void stop_waiting_for_master(Remote* remote) {
  if (auto* const waits = dynamic_cast<WaitsForMaster*>(remote)) waits->stop_waiting();
}

}  // namespace weft::storage
