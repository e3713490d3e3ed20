import Schedule
import WatchFile

/// A window of the calendar that is open, and until when: wall clock, microseconds.
struct OpenWindow {
    var window: CalendarWindow
    var until: Int64
    /// Another one follows then without a gap, and so on for as long as was looked.
    var hasMore = false
}

extension Clocks {
    /// More windows than this are not looked through one after the other: who waits looks again then.
    private static let mostWindows = 1000
    /// Microseconds: longer than a year and all its exceptions. A window that is not over by then never ends.
    static let horizon: Int64 = 400 * 86_400_000_000

    /// The window that is open now, if there is one; `until` is the end of all that follow without a gap.
    func open(_ windows: [CalendarWindow]) -> OpenWindow? {
        guard !windows.isEmpty, let open = open(windows, at: now.realtime) else { return nil }
        return followed(open, by: windows)
    }

    /// The one that is open at an instant; of several the one that ends last.
    private func open(_ windows: [CalendarWindow], at instant: Int64) -> OpenWindow? {
        var found: OpenWindow?
        for window in windows {
            guard let end = window.end(at: instant, in: zones.rules(for: window.calendar)),
                end > found?.until ?? .min
            else { continue }
            found = OpenWindow(window: window, until: end)
        }
        return found
    }

    /// Windows may overlap, or follow each other without a gap: until the end of the last one.
    private func followed(_ first: OpenWindow, by windows: [CalendarWindow]) -> OpenWindow {
        var last = first
        for _ in 0..<Self.mostWindows where last.until - now.realtime < Self.horizon {
            guard let next = open(windows, at: last.until) else { return last }
            last.until = next.until
        }
        last.hasMore = true
        return last
    }
}
