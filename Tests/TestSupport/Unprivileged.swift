import CTestSystem
import Foundation
import Testing

/// What root's tests act as if a test needs a user who may not do everything.
private let unprivileged: UInt32 = 65_534

/// Runs a test's steps as a user who may not do everything, and who owns the directory: as root, another user.
///
/// - Parameter body: gets the user.
package func withoutPrivileges(in directory: TemporaryDirectory, _ body: (_ user: UInt32) throws -> Void) throws {
    guard geteuid() == 0 else { return try body(geteuid()) }
    try #require(chown(directory.path, unprivileged, unprivileged) == 0)
    try #require(test_act_as_user(unprivileged) == 0)
    defer { if test_act_as_user(0) != 0 { fatalError("the thread remains another user's") } }
    try body(unprivileged)
}
