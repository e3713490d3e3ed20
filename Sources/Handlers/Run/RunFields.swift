import Engine
import WatchFile

extension StartRequest {
    /// Fields of the journal for what the run says. `processID`: of its process while that runs; journald adds what it
    /// finds about it.
    func journalFields(processID: Int32?) -> [(name: String, value: String)] {
        if events.isEmpty, definition.value.stream != nil {
            return [(name: "WATCHD_HANDLER", value: definition.value.name)]
                + (processID.map { [(name: "OBJECT_PID", value: "\($0)")] } ?? [])
        }
        var fields = [(name: "WATCHD_SOURCE", value: origin.description)]
        // A supervised process is no run of a handler.
        if !events.isEmpty {
            fields += [
                (name: "WATCHD_HANDLER", value: definition.value.name), (name: "WATCHD_QUEUE", value: queue),
                (name: "WATCHD_OPERATION", value: "\(run.operation)"),
                (name: "WATCHD_ATTEMPT", value: "\(run.attempt)"),
            ]
        }
        if let processID { fields.append((name: "OBJECT_PID", value: "\(processID)")) }
        return fields
    }
}
