import Engine
import LinuxSystem

/// The reader of a source's descriptor. Confined to its context.
protocol DescriptorReader: AnyObject {
    var isOpen: Bool { get }
    /// The descriptor that it reads.
    var number: Int32? { get }
    /// Everything that was told is consumed too.
    var isSettled: Bool { get }
    /// Taken out of it, and not told.
    var untold: [LineFact] { get }
    /// Takes a descriptor over and watches it; the one before is closed first.
    func open(_ new: consuming FileDescriptor) throws(SystemError)
    /// Watches again, after a failure.
    func watch() throws(SystemError)
    /// There may be something to do, though nothing has come.
    func lookAgain()
    /// Looks at it, and tells nothing yet.
    func lookFirst()
    func hold()
    func release() throws(SystemError)
    /// Gives the descriptor away, once it is settled.
    func close(_ heir: @escaping (consuming FileDescriptor) -> Void)
}

extension DescriptorReader {
    func lookAgain() {}
    func lookFirst() {}
}
