await cloud.close()  // returns when the last block of every operation was called
