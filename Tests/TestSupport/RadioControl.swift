import Foundation

/// Says one line at a radio's control socket. The radio has done it when it answers, and its answer begins with "ok".
package func radioAnswer(to line: String, at path: String) throws -> String {
    let radio = FileHandle(fileDescriptor: try makeConnection(to: path), closeOnDealloc: true)
    try radio.write(contentsOf: Data((line + "\n").utf8))
    return String(decoding: radio.availableData, as: UTF8.self)
}
