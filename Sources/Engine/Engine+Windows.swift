import Schedule
import WatchFile

/// `NotDuring=`, `HoldDuring=`: windows of the calendar in which what comes is skipped, or waits.
extension Engine {
    /// A window that is open, and until when: wall clock, microseconds.
    struct OpenWindow {
        var window: CalendarWindow
        var until: Int64
    }

    /// More windows than this are not looked through one after the other: who waits looks again then.
    private static let mostWindows = 1000

    /// Why a delivery that comes now is skipped.
    func skippingWindow(source: Int, handler: Int) -> String? {
        var windows = handlers[handler].definition.value.windows.notDuring
        if sources[source].hasWindows { windows += sources[source].definition?.value.windows.notDuring ?? [] }
        guard let open = open(windows, at: now.realtime) else { return nil }
        return "NotDuring=\(open.window), \(span(end(of: open, windows) - now.realtime)) more"
    }

    /// The window that holds what comes now, if there is one; `until` is the end of all that follow without a gap.
    func holdingWindow(source: Int, handler: Int) -> OpenWindow? {
        var windows = handlers[handler].definition.value.windows.holdDuring
        if sources[source].hasWindows { windows += sources[source].definition?.value.windows.holdDuring ?? [] }
        guard !windows.isEmpty, var open = open(windows, at: now.realtime) else { return nil }
        open.until = end(of: open, windows)
        return open
    }

    func holdingWindow(_ ref: OperationRef) -> OpenWindow? {
        holdingWindow(source: operations[ref].source, handler: operations[ref].handler)
    }

    /// True: it waits until a window is over.
    mutating func waitsForWindow(_ ref: OperationRef) -> Bool {
        guard let open = holdingWindow(ref) else {
            if !windowHolds.isEmpty { windowHolds[ref.id] = nil }
            return false
        }
        if windowHolds[ref.id] != open.until {
            windowHolds[ref.id] = open.until
            deadlines.add(.submission(ref), .realtime, at: open.until)
        }
        return true
    }

    /// The clock or the zones have changed.
    mutating func windowsMayHaveMoved() {
        for id in windowHolds.keys.sorted() {
            if let ref = operations.ref(id: id) { submitIfFree(ref) } else { windowHolds[id] = nil }
        }
    }

    /// The one that is open at an instant; of several the one that ends last.
    private func open(_ windows: [CalendarWindow], at instant: Int64) -> OpenWindow? {
        var found: OpenWindow?
        for window in windows {
            let span = Int64(clamping: window.span.microseconds)
            let begun = window.calendar.newestElapses(
                after: instant - span, through: instant, limit: 1, in: zones.rules(for: window.calendar))
            guard let start = begun.instants.last, start + span > found?.until ?? .min else { continue }
            found = OpenWindow(window: window, until: start + span)
        }
        return found
    }

    /// Windows may overlap, or follow each other without a gap.
    private func end(of first: OpenWindow, _ windows: [CalendarWindow]) -> Int64 {
        var end = first.until
        for _ in 0..<Self.mostWindows {
            guard let next = open(windows, at: end) else { break }
            end = next.until
        }
        return end
    }
}
