import Engine
import Store

/// Ends that the store does not know: after a crash of watchd what has run would run again.
extension StoreWriter {
    /// An operation has ended, and it stands in the store as one that has not, or has fulfilled a `Once=`.
    func hasUnsavedEnd(of id: UInt64) -> Bool { isUnsaved { $0.hasConsequentialEnd(of: id) } }

    /// Handlers whose `Once=` is fulfilled, each once, in order.
    var unsavedOnce: [String] { Set(unsaved(\.fulfilledOnce)).sorted() }
}

extension StoreWriter.Batch {
    fileprivate var fulfilledOnce: [String] {
        writes.compactMap { if case .once(let handler, _?) = $0 { handler } else { nil } }
    }

    fileprivate func hasConsequentialEnd(of id: UInt64) -> Bool {
        writes.contains { write in
            guard case .ended(let view) = write, view.id == id else { return false }
            return view.isDurable || fulfilledOnce.contains(view.handler)
        }
    }
}

extension Persistence {
    /// Why the store does not know the end of an operation, where a crash would make it run again; `nil`: it knows.
    func unsavedEnd(of id: UInt64) -> StoreError? {
        guard let failure, writer?.hasUnsavedEnd(of: id) == true else { return nil }
        return failure.error
    }

    /// Handlers that would run once more after a crash, while the store fails.
    var unsavedOnce: [String] { failure == nil ? [] : writer?.unsavedOnce ?? [] }
}
