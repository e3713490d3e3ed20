import WatchFile

/// `After=process/NAME`: an operation is not submitted before the process is ready.
extension Engine {
    /// The first process that an operation waits for, of those that its handler comes after; `nil`: all are ready.
    func unreadyProcess(before ref: OperationRef) -> String? {
        let names = handlers[operations[ref].handler].definition.value.constraints.afterProcesses
        return names.isEmpty ? nil : names.first { !isReady(process: $0) }
    }

    /// One that is not in the watch file any more holds nobody.
    private func isReady(process name: String) -> Bool {
        guard let source = sources.index(of: .source(SourceID(.process, name))), !sources[source].isRemoved,
            let supervision = supervisor[source]
        else { return true }
        return supervision.isReady
    }

    /// A process is ready.
    mutating func submitThoseBehindProcesses() {
        guard
            handlers.indices.contains(where: {
                handlers[$0].operations > 0 && !handlers[$0].definition.value.constraints.afterProcesses.isEmpty
            })
        else { return }
        submitAllFree()
    }

    /// After a reload, which may have taken away what they wait for, too.
    mutating func submitAllFree() {
        for ref in operations.oldest(.max / 4, where: { $0.turn.station == .unsubmitted }) { submitIfFree(ref) }
    }

    func processSentence(_ ref: OperationRef) -> (sentence: String, section: String)? {
        guard let name = unreadyProcess(before: ref) else { return nil }
        return ("process/\(name), which is not ready (After=process/\(name))", "process/\(name)")
    }
}
