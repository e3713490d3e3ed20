import Glibc

extension Linux {
    /// `fnmatch(3)` with FNM_NOESCAPE: `*`, `?` and `[…]` stand for text, everything else for itself, a backslash too.
    package static func matches(_ name: String, glob: String) -> Bool { fnmatch(glob, name, FNM_NOESCAPE) == 0 }
}
