import Schedule
import WatchFile

/// `NotDuring=`, `HoldDuring=`: windows of the calendar in which what comes is skipped, or waits.
extension Engine {
    /// Why a delivery that comes now is skipped.
    func skippingWindow(source: Int, handler: Int) -> String? {
        var windows = handlers[handler].definition.value.windows.notDuring
        if sources[source].traits.contains(.windows), let own = sources[source].definition {
            windows += own.value.windows.notDuring
        }
        guard let open = clocks.open(windows) else { return nil }
        return "NotDuring=\(sentence(open))"
    }

    /// `02:00 for 3h, 40min more`.
    func sentence(_ open: OpenWindow) -> String {
        let left = open.until - now.realtime
        let end =
            !open.hasMore
            ? "\(SpanText.remaining(left)) more"
            : left < Clocks.horizon ? "at least \(SpanText.remaining(left)) more" : "which never ends"
        return "\(open.window), \(end)"
    }

    /// The window that holds what comes now, if there is one.
    func holdingWindow(source: Int, handler: Int) -> OpenWindow? {
        var windows = handlers[handler].definition.value.windows.holdDuring
        if sources[source].traits.contains(.windows), let own = sources[source].definition {
            windows += own.value.windows.holdDuring
        }
        return clocks.open(windows)
    }

    func holdingWindow(_ ref: OperationRef) -> OpenWindow? {
        holdingWindow(source: operations[ref].source, handler: operations[ref].handler)
    }

    /// True: it waits until a window is over, or for its time.
    mutating func waitsForWindow(_ ref: OperationRef) -> Bool {
        guard let end = timeLeft(ref).map({ now.realtime + $0 }) ?? holdingWindow(ref)?.until else {
            clocks.holdNoMore(ref.id)
            return false
        }
        if let time = clocks.hold(ref.id, until: end) { deadlines.add(.submission(ref), .realtime, at: time) }
        return true
    }

    /// The clock or the zones have changed.
    mutating func windowsMayHaveMoved() {
        for id in clocks.windowEnds.keys.sorted() {
            if let ref = operations.ref(id: id) { submitIfFree(ref) } else { clocks.holdNoMore(id) }
        }
    }
}
