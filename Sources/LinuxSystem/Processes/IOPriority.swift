import CLinux

/// How urgent a process's input and output on block devices is (`ioprio_set(2)`); of two, the greater is the more
/// urgent.
package struct IOPriority: RawRepresentable, Comparable, Sendable {
    private static let classShift: Int32 = 13
    /// As the kernel encodes it: real time is class 1, best effort 2, idle 3; the level is below.
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Level 0 to 7, of which 7 is the least urgent.
    package static func bestEffort(_ level: Int32) -> IOPriority { IOPriority(rawValue: 2 << classShift | level) }

    /// Before all others; level 0 to 7, of which 7 is the least urgent.
    package static func realTime(_ level: Int32) -> IOPriority { IOPriority(rawValue: 1 << classShift | level) }

    /// Served when nobody else wants the device.
    package static let idle = IOPriority(rawValue: 3 << classShift)

    /// None was set: best effort, at a level that follows from the nice value. Compares as the most urgent.
    package static let none = IOPriority(rawValue: 0)

    /// The class as the kernel numbers it, and the level in it.
    package var number: Int32 { rawValue >> Self.classShift }
    package var level: Int32 { rawValue & (1 << Self.classShift - 1) }

    package static func < (left: IOPriority, right: IOPriority) -> Bool { left.rawValue > right.rawValue }
}

extension Linux {
    /// `ioprio_get(2)`: that of the calling thread; `none` too where the kernel knows none.
    package static var ioPriority: IOPriority { IOPriority(rawValue: max(0, clinux_io_priority())) }
}
